//! Tests of warps on the host. They check that a warp stays the same when it is written and read back, as raw planes or
//! as a warp file, and check the statistics and the preview of a warp.

use std::fs;
use std::path::Path;

use glam::UVec2;
use panoweave::geometry::rig::ProjectionName;
use panoweave::warp::{PixelBox, Plane, Warp, WarpError};
use safetensors::SafeTensors;

use crate::malformed::{assert_says, assert_variant, refusal};

pub(crate) const SOURCES: [UVec2; 2] = [UVec2::new(40, 30), UVec2::new(36, 28)];

/// Returns a warp of 100 columns. The left camera covers columns 0 to 59, the right camera columns 40 to 99. In columns
/// 40 to 59, the weights change linearly from left to right.
pub(crate) fn sample() -> Warp {
    let size = UVec2::new(100, 20);
    let mut planes = [(); 6].map(|()| Vec::new());
    for y in 0..size.y {
        for x in 0..size.x {
            let (x, y) = (x as f32, y as f32);
            let left = ((60.0 - x) / 20.0).clamp(0.0, 1.0);
            let values = [x * 0.6, y, (x - 40.0) * 0.6, y + 0.25, left, 1.0 - left];
            planes.iter_mut().zip(values).for_each(|(plane, value)| plane.push(value));
        }
    }
    Warp::new(size, SOURCES, planes)
        .unwrap()
        .made_from(Some(ProjectionName::Cylindrical), Some("# a rig\n\"ünï\"".to_owned()))
}

#[test]
fn a_warp_file_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let plain = sample().made_from(None, None);
    for warp in [sample(), plain] {
        warp.save(&path).unwrap();
        assert_eq!(Warp::open(&path).unwrap(), warp);
        let first = fs::read(&path).unwrap();
        warp.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first, "equal warps give equal files");
    }
    // The expected length and checksum are those of a file that another program wrote according to the description of
    // the format.
    sample().save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (48_600, 0x09fc_7464));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_says(refusal(dir.path(), |p| Warp::open(p)), "is a directory");
    let nowhere = refusal(&dir.path().join("no/a.safetensors"), |p| sample().save(p));
    assert_variant!(nowhere, WarpError::Unwritable { .. });
    let long = sample().made_from(None, Some("x".repeat(1 << 20)));
    assert_says(refusal(&path, |p| long.save(p)), "corrupt header");
}

#[test]
fn other_programs_read_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let warp = sample();
    warp.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), 6);
    for plane in Plane::all(2) {
        let tensor = tensors.tensor(&plane.name()).unwrap();
        assert_eq!(tensor.shape(), [20, 100]);
        let expected: Vec<u8> = warp.plane(plane).iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(tensor.data(), expected);
    }
    // Compute the expected checksum as the documentation of the format describes.
    let (length, layout) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = layout.metadata().clone().unwrap();
    let mut sealed = bytes[8 + length..].to_vec();
    sealed.extend(format!("40x30 36x28 cylindrical {}", metadata["rig"]).bytes());
    assert_eq!(metadata["checksum"], format!("{:08x}", crc32fast::hash(&sealed)));
}

/// Writes the planes of a warp as six raw files.
fn export(warp: &Warp, folder: &Path) {
    for plane in Plane::all(2) {
        let bytes: Vec<u8> = warp.plane(plane).iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(plane.raw_file(folder), bytes).unwrap();
    }
}

#[test]
fn raw_planes_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let warp = sample().made_from(None, None);
    export(&warp, dir.path());
    assert!(dir.path().join("lut_left_x.bin").exists());
    assert_eq!(Warp::import_raw(dir.path(), warp.size(), SOURCES).unwrap(), warp);
}

#[test]
fn malformed_raw_planes() {
    let dir = tempfile::tempdir().unwrap();
    let size = UVec2::new(100, 20);
    let changed = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        export(&sample(), dir.path());
        let file = dir.path().join(name);
        let mut bytes = fs::read(&file).unwrap();
        change(&mut bytes);
        fs::write(&file, bytes).unwrap();
        refusal(&file, |_| Warp::import_raw(dir.path(), size, SOURCES))
    };
    for plane in Plane::all(2) {
        let name = plane.raw_file("".as_ref());
        let name = name.to_str().unwrap();
        for length in [0, 1, 4, 7996, 7999] {
            assert_says(changed(name, &|bytes| bytes.truncate(length)), "needs 8000 bytes");
        }
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let put = changed(name, &|b| b[4 * 523..][..4].copy_from_slice(&value.to_le_bytes()));
            assert_says(put, &format!("plane {} is {value} at column 23, row 5", plane.name()));
        }
        export(&sample(), dir.path());
        fs::remove_file(dir.path().join(name)).unwrap();
        let gone = refusal(&dir.path().join(name), |_| Warp::import_raw(dir.path(), size, SOURCES));
        assert_says(gone, "the file is missing");
    }
    for value in [-0.001f32, 1.001] {
        let put = changed("weight_right.bin", &|b| b[..4].copy_from_slice(&value.to_le_bytes()));
        assert_says(put, "at column 0, row 0; it must be 0 to 1");
    }
    assert_says(changed("lut_left_y.bin", &|bytes| bytes.extend([0; 400])), "would fit 100×21");
    export(&sample(), dir.path());
    for (size, sources, said) in [
        (UVec2::new(0, 20), SOURCES, "the panorama is"),
        (UVec2::new(40_000, 20), SOURCES, "the panorama is"),
        (UVec2::new(32_768, 32_768), SOURCES, "the panorama is"),
        (size, [UVec2::ZERO; 2], "a source picture is"),
    ] {
        assert_says(refusal(dir.path(), |p| Warp::import_raw(p, size, sources)), said);
    }
}

#[test]
fn measures_are_as_counted_by_hand() {
    let stats = sample().stats();
    // The left weight is over 0.001 in columns 0 to 59, the right weight in columns 41 to 99. All rows are inside the
    // pictures: y is 0 to 19 of 30 on the left, and 0.25 to 19.25 of 28 on the right.
    assert!((stats.cameras[0].coverage - 0.60).abs() < 1e-12);
    assert!((stats.cameras[1].coverage - 0.59).abs() < 1e-12);
    assert!((stats.coverage - 1.0).abs() < 1e-12);
    assert!((stats.overlap - 0.19).abs() < 1e-12);
    assert_eq!(stats.overlap_box, Some(PixelBox { x: 41, y: 0, width: 19, height: 20 }));
    assert_eq!(stats.cameras[0].least, Some([0.0, 0.0]));
    assert_eq!(stats.cameras[0].most, Some([59.0 * 0.6, 19.0]));
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["overlap_box"]["width"], 19);
    assert_eq!(json["cameras"][1]["size"][0], 36);
    // In this warp, no camera contributes.
    let planes = [(); 6].map(|()| vec![0.0; 4]);
    let stats = Warp::new(UVec2::splat(2), SOURCES, planes).unwrap().stats();
    assert_eq!((stats.coverage, stats.overlap_box, stats.cameras[0].least), (0.0, None, None));
}

#[test]
fn the_preview_shows_both_cameras_and_the_overlap() {
    let picture = sample().preview(1000);
    assert_eq!((picture.width(), picture.height()), (100, 20));
    let at = |x: usize, y: usize| picture.pixels()[y * 100 + x];
    assert!(at(10, 6).r > at(10, 6).b && at(90, 6).b > at(90, 6).r);
    // The weight of the right camera starts at column 41. A light line marks this column.
    let brightness = |x: usize| {
        let pixel = at(x, 6);
        u32::from(pixel.r) + u32::from(pixel.g) + u32::from(pixel.b)
    };
    assert!(brightness(41) > brightness(37) && brightness(41) > brightness(44));
    // The colours of both cameras are mixed in the overlap.
    assert!(at(50, 6).r > at(90, 6).r && at(50, 6).b > at(10, 6).b);
    let small = sample().preview(10);
    assert_eq!((small.width(), small.height()), (10, 2));
    assert_eq!((sample().preview(0).width(), sample().preview(1).height()), (1, 1));
}
