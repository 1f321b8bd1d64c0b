//! Tests of warp files that contain a mesh. They check that a warp stays the same when it is written and read back, and
//! read the files with an independent implementation of the documented format.

use std::fs;

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::warp::{DeviceWarp, MESH_ERROR, Mesh, MeshError, Plane, Warp};
use panoweave_tests::random::{Random, random_rig, random_warp};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::warp::file::sample;

pub(crate) const SIZE: UVec2 = uvec2(170, 260);

/// Returns a warp of two cameras side by side that blend in the middle. No camera covers the last columns. In the
/// warp's mesh, tiles at the top are single patches, tiles in the middle are divided into cells, and tiles at the
/// bottom store the position of each pixel.
pub(crate) fn bent() -> Warp {
    let plane = |at: &dyn Fn(f32, f32) -> f32| {
        let pixels = (0..SIZE.y).flat_map(|y| (0..SIZE.x).map(move |x| (x, y)));
        pixels.map(|(x, y)| at(x as f32, y as f32)).collect::<Vec<_>>()
    };
    let bend = |x: f32, y: f32| match y {
        ..96.0 => x,
        96.0..128.0 => x + 3.0 * (0.025 * (x + y)).sin(),
        128.0..192.0 => x + 3.0 * (0.05 * (x + y)).sin(),
        _ => x + 3.0 * (1.7 * (x + y)).sin(),
    };
    let right = |x: f32| if x < 130.0 { ((x - 50.0) / 40.0).clamp(0.0, 1.0) } else { 0.0 };
    let left = |x: f32| if x < 130.0 { 1.0 - right(x) } else { 0.0 };
    let planes = [
        plane(&|x, y| bend(x, y) + 5.0),
        plane(&|_, y| y),
        plane(&|x, y| bend(x, y) - 30.0),
        plane(&|_, y| y + 7.5),
        plane(&|x, _| left(x)),
        plane(&|x, _| right(x)),
    ];
    Warp::new(SIZE, [uvec2(150, 400); 2], planes).unwrap()
}

pub(crate) fn meshed() -> Warp {
    let warp = bent().with_mesh(MESH_ERROR).unwrap();
    let kinds = warp.mesh().unwrap().divisions();
    assert!(kinds[0] > 0 && kinds[1] > 0 && kinds[2] > 0 && kinds[3] > 0, "{kinds:?}");
    warp
}

#[test]
fn a_mesh_comes_back_with_its_warp() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let noise = random_warp(&mut Random::new(8), uvec2(70, 40));
    // In this warp, all positions are far outside the pictures, so no camera contributes.
    let wild = [1e30, -1e38, 3e38, f32::MAX, 1.0, 0.5].map(|value| vec![value; 40 * 40]);
    let wild = Warp::new(uvec2(40, 40), [uvec2(9, 9); 2], wild).unwrap();
    let mut warps = vec![sample(), bent(), noise, wild];
    let stream = Device::simulator().stream().unwrap();
    for seed in 0..24 {
        let geometry = random_rig(seed).geometry().unwrap();
        warps.push(DeviceWarp::render(&stream, &geometry).unwrap().download(&stream).unwrap());
    }
    for warp in warps {
        warp.save(&path).unwrap();
        let plain = fs::read(&path).unwrap();
        for error in [MESH_ERROR, 1e-3, 1e-7, 3.3333, 1e20] {
            let meshed = warp.clone().with_mesh(error).unwrap();
            assert_ne!(meshed, warp);
            meshed.save(&path).unwrap();
            let first = fs::read(&path).unwrap();
            let opened = Warp::open(&path).unwrap();
            assert_eq!(opened, meshed);
            assert_eq!(opened.mesh(), Some(&Mesh::new(&warp, error).unwrap()));
            assert_eq!(opened.mesh().map(Mesh::error), Some(error));
            opened.save(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), first, "equal warps give equal files");
            // Changing the metadata of a warp must keep its mesh.
            assert_eq!(opened.clone().made_from(None, None).mesh(), meshed.mesh());
            opened.without_mesh().save(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), plain, "a mesh changes no other part");
        }
    }
    for error in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = sample().with_mesh(error);
        assert!(matches!(refused, Err(MeshError::Bound(_))), "{refused:?}");
    }
}

/// An independent reader of the file format, written only from the table in the documentation in
/// `host/src/warp/file/mod.rs`.
struct Documented<'a> {
    tensors: SafeTensors<'a>,
}

impl Documented<'_> {
    fn tensor(&self, name: &str, dtype: Dtype, element: &[usize]) -> TensorView<'_> {
        let tensor = self.tensors.tensor(name).unwrap();
        assert_eq!((tensor.dtype(), &tensor.shape()[1..]), (dtype, element), "{name}");
        tensor
    }

    fn floats(&self, name: &str, element: &[usize]) -> Vec<f64> {
        let tensor = self.tensor(name, Dtype::F32, element);
        let (numbers, _) = tensor.data().as_chunks();
        numbers.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
    }
}

#[test]
fn other_programs_read_the_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let warp = meshed().made_from(None, Some("a rig".to_owned()));
    warp.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let (length, layout) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = layout.metadata().clone().unwrap();
    assert_eq!((&*metadata["version"], &*metadata["mesh_error"]), ("1", "0.03125"));
    let mut sealed = bytes[8 + length..].to_vec();
    sealed.extend(b"150x400 150x400 unknown 0.03125 a rig");
    assert_eq!(metadata["checksum"], format!("{:08x}", crc32fast::hash(&sealed)));

    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), 11);
    let file = Documented { tensors };
    let layers = file.tensor("mesh_layers", Dtype::U32, &[5]);
    let (layers, _) = layers.data().as_chunks();
    let layers: Vec<_> = layers.iter().map(|b| u32::from_le_bytes(*b) as usize).collect();
    let layer_patches = file.floats("mesh_layer_patches", &[2, 6]);
    let patches = file.floats("mesh_patches", &[2, 6]);
    let places = file.floats("mesh_places", &[32, 32, 2]);
    let shares = file.tensor("mesh_shares", Dtype::U16, &[32, 32]);
    let (shares, _) = shares.data().as_chunks();
    let polynomial = |numbers: &[f64], x: usize, y: usize| {
        let (x, y) = (x as f64 - 15.5, y as f64 - 15.5);
        let powers = [1.0, x, y, x * x, x * y, y * y];
        numbers.iter().zip(powers).map(|(number, power)| number * power).sum::<f64>()
    };
    const NONE: usize = u32::MAX as usize;
    const REST: usize = NONE - 1;
    let [width, height] = SIZE.to_array().map(|side| side as usize);
    let names = [
        [Plane::X(0), Plane::Y(0), Plane::Weight(0)],
        [Plane::X(1), Plane::Y(1), Plane::Weight(1)],
    ];
    let mut shown = 0;
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
        let (x, y, at) = (column % 32, row % 32, row * width + column);
        let mut next = row / 32 * width.div_ceil(32) + column / 32;
        let mut found = [0.0; 2];
        while next != NONE {
            let [camera, cell, first, share, after] = layers[5 * next..][..5] else { panic!() };
            let this = next;
            next = after;
            if camera == 65_535 {
                continue;
            }
            let [along, down, _] = names[camera].map(|plane| f64::from(warp.plane(plane)[at]));
            found[camera] = match share {
                NONE => 1.0,
                REST => 1.0 - found[1 - camera],
                first => f64::from(u16::from_le_bytes(shares[first + 32 * y + x])) / 65_535.0,
            };
            if found[camera] == 0.0 {
                continue;
            }
            let place = match cell {
                0 => {
                    let at = 2 * (first + 32 * y + x);
                    [places[at], places[at + 1]]
                }
                32 => [0, 6].map(|axis| polynomial(&layer_patches[12 * this + axis..][..6], x, y)),
                8 | 16 => {
                    let patch = first + y / cell * (32 / cell) + x / cell;
                    [0, 6].map(|axis| polynomial(&patches[12 * patch + axis..][..6], x, y))
                }
                other => panic!("cells of {other}"),
            };
            let off = (place[0] - along).abs().max((place[1] - down).abs());
            assert!(off <= f64::from(MESH_ERROR) + 1e-4, "{off} at {column}, {row}");
            shown += 1;
        }
        let weights = names.map(|[.., weight]| f64::from(warp.plane(weight)[at]));
        // All positions are inside the pictures, so only the weights decide which cameras contribute.
        let counting = weights.map(|weight| if weight > 0.001 { weight } else { 0.0 });
        let whole = counting[0] + counting[1];
        for (found, weight) in found.into_iter().zip(counting) {
            let exact = if whole > 0.0 { weight / whole } else { 0.0 };
            assert!((found - exact).abs() < 0.51 / 65_535.0, "{found} is {exact}: {column}, {row}");
        }
    }
    assert!(shown > 130 * height, "{shown}");
}
