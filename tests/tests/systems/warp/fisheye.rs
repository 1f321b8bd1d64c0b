//! Compares a rectified fisheye picture with the picture of an external implementation (the "golden" picture).
//!
//! The golden picture was sampled bilinearly in f64 with OpenCV's fisheye model. Its camera matrix is the matrix `K` of
//! the calibration file, with the focal lengths multiplied by `scale_xy` and the principal point moved by `shift_xy`.
//! Pixels outside the source picture are zero. A rig cannot set the principal point of the panorama, so the test
//! changes the canvas of the rig's geometry instead.

use glam::{DMat3, DVec2, UVec2};
use panoweave::device::Device;
use panoweave::geometry::Geometry;
use panoweave::geometry::intrinsics::Intrinsics;
use panoweave::geometry::rig::Rig;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::stitch_pictures;
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::{by_planes, data};
use shared_types::Rgba8;
use shared_types::warp::Canvas;

/// The value `scale_xy` in the calibration file.
const SCALE: DVec2 = DVec2::new(0.7, 0.8);
/// The value `shift_xy` in the calibration file, in pixels.
const SHIFT: DVec2 = DVec2::new(-150.0, -100.0);

/// A rig of two cameras: the calibrated camera, and a copy of it that points in the opposite direction. [`geometry`]
/// replaces the canvas.
const RIG: &str = r#"
[panorama]
projection = "planar"
width = 960
height = 640
fov = 90.0

[[camera]]
name = "front"
lens = "fisheye"
opencv = "front.yaml"

[[camera]]
name = "away"
lens = "fisheye"
opencv = "front.yaml"
yaw = 180.0
"#;

/// Returns the rig's geometry with the canvas that the calibration file describes, or `None` without the test data.
fn geometry() -> Option<Geometry> {
    let calibration = data("rigs/surround/front.yaml")?;
    let found = Intrinsics::open(&calibration, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rig.toml");
    std::fs::write(&file, RIG.replace("front.yaml", calibration.to_str().unwrap())).unwrap();
    let rig = Rig::open(file).unwrap();
    let mut geometry = rig.geometry().unwrap();
    geometry.canvas =
        Canvas { centre: found.centre + SHIFT, scale: found.focal * SCALE, ..geometry.canvas };
    Some(geometry)
}

fn flatten(geometry: &Geometry, picture: &Picture) -> (Warp, Picture) {
    let stream = Device::simulator().stream().unwrap();
    let warp = DeviceWarp::render(&stream, geometry).unwrap();
    let options = by_planes();
    let flat = stitch_pictures(&stream, &[picture, picture], &warp, &options).unwrap();
    (warp.download(&stream).unwrap(), flat)
}

/// Compares the pixels of `flat` whose four source neighbours are inside the source picture. Returns the number of
/// these pixels, and their largest difference from `golden` in levels.
fn compare(warp: &Warp, flat: &Picture, golden: &Picture) -> (usize, u8) {
    let last = warp.sources()[0].as_vec2() - 1.0;
    let inside = |at: &usize| {
        let (u, v) = (warp.plane(Plane::X(0))[*at], warp.plane(Plane::Y(0))[*at]);
        // Exclude source coordinates on the picture's edge, which may be inside the picture only because of rounding.
        u >= 0.001 && v >= 0.001 && u < last.x - 0.001 && v < last.y - 0.001
    };
    let difference =
        |a: Rgba8, b: Rgba8| a.r.abs_diff(b.r).max(a.g.abs_diff(b.g)).max(a.b.abs_diff(b.b));
    (0..flat.pixels().len()).filter(inside).fold((0, 0), |(count, worst), at| {
        (count + 1, worst.max(difference(flat.pixels()[at], golden.pixels()[at])))
    })
}

#[test]
fn a_flattened_fisheye_is_the_golden_one() {
    let (Some(geometry), Some(picture), Some(golden)) = (
        geometry(),
        data("rigs/surround/front.png"),
        data("rigs/surround/golden/front_undist_exact_bilinear.png"),
    ) else {
        return;
    };
    let (picture, golden) = (Picture::open(picture).unwrap(), Picture::open(golden).unwrap());
    let size = UVec2::new(golden.width(), golden.height());
    assert_eq!(geometry.canvas.size, size);
    let (warp, flat) = flatten(&geometry, &picture);

    // The second camera points in the opposite direction, so it does not contribute to the panorama.
    assert!(warp.plane(Plane::Weight(1)).iter().all(|&weight| weight == 0.0));
    assert_eq!(geometry.cameras[0].from_ray, DMat3::IDENTITY);
    let (count, worst) = compare(&warp, &flat, &golden);
    println!("{count} of {} pixels compared, at most {worst} levels apart", flat.pixels().len());
    assert!(count * 2 > flat.pixels().len(), "only {count} pixels are inside");
    assert!(worst <= 1, "{worst} levels apart");

    // Check that the comparison is sensitive enough to detect a principal point that is wrong by 0.1 pixels.
    let mut off = geometry.clone();
    off.cameras[0].centre.x += 0.1;
    let (warp, flat) = flatten(&off, &picture);
    let (_, worst) = compare(&warp, &flat, &golden);
    assert!(worst > 1, "a shift of 0.1 pixels went unnoticed");
}
