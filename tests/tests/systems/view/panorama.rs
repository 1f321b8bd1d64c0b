//! Views of a ready panorama as the only camera: colours are those of the directions, with no gap where a full circle
//! closes or at the poles, and nothing is shown beyond the edges of a part of a circle.

use std::f64::consts::{PI, TAU};

use glam::{DVec3, UVec2, uvec2};
use panoweave::frame::FrameFormat;
use panoweave::geometry::rig::{Rig, RigError};
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::{StitchOptions, stitch_pictures};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::raster::{Pixels, Raster};
use panoweave_tests::{by_planes, panoweave_devices};
use shared_types::Rgba8;

use crate::view::exact::Rays;
use crate::view::{rgba, shown};

/// The allowed error in levels: rounding of the picture, bilinear interpolation of its waves, and rounding of the view.
const ALLOWED: f64 = 1.8;

/// The levels of a direction: smooth, and different in every direction.
fn levels(ray: DVec3) -> [f64; 3] {
    let DVec3 { x, y, z } = ray.normalize();
    [x, y, z].map(|axis| 128.0 + 100.0 * axis)
}

/// Returns a panorama whose columns span `fov` radians, and the pixels per radian.
fn panorama(lens: &str, size: UVec2, fov: f64) -> (Raster, f64) {
    let per_radian = f64::from(size.x) / fov;
    let pixel = |at: u32| {
        let [across, down] = [(at % size.x, size.x), (at / size.x, size.y)]
            .map(|(at, side)| (f64::from(at) - (f64::from(side) - 1.0) / 2.0) / per_radian);
        let (y, level) = if lens == "cylindrical" { (down, 1.0) } else { down.sin_cos() };
        let [r, g, b] = levels(DVec3::new(across.sin() * level, y, across.cos() * level));
        Rgba8::opaque(r.round() as u8, g.round() as u8, b.round() as u8)
    };
    let pixels = Pixels::Rgba8((0..size.element_product()).map(pixel).collect());
    (Raster { size, pixels }, per_radian)
}

/// Returns the table of a camera with this lens. Without a matrix, it is a full circle.
fn table(lens: &str, UVec2 { x, y }: UVec2, matrix: &str) -> String {
    format!("[[camera]]\nname = \"all\"\nsize = [{x}, {y}]\nlens = \"{lens}\"\n{matrix}\n")
}

/// Returns a rig with one camera and a planar canvas of 160×120 pixels.
fn rig(fov: f64, yaw: f64, pitch: f64, camera: &str) -> Result<Rig, RigError> {
    let text = format!(
        "[panorama]\nprojection = \"planar\"\nwidth = 160\nheight = 120\nfov = {fov:?}\nyaw = {yaw:?}\npitch = {pitch:?}\n{camera}"
    );
    Rig::parse(&text, "made up")
}

/// Compares a view with the directions. Pixels within half a pixel of an edge may be shown or not.
fn check(view: &ViewPose, found: &Raster, sees: impl Fn(DVec3) -> Option<bool>, what: &str) {
    let rays = Rays::new(view, false, found.size);
    for (at, pixel) in (0..).zip(rgba(found)) {
        let ray = rays.at(uvec2(at % found.size.x, at / found.size.x));
        let shown = [pixel.r, pixel.g, pixel.b].map(f64::from);
        let off =
            |expected: [f64; 3]| (0..3).map(|c| (shown[c] - expected[c]).abs()).fold(0.0, f64::max);
        match sees(ray) {
            Some(true) => {
                let off = off(levels(ray));
                assert!(off <= ALLOWED, "{what}: off by {off} levels at {ray}: {shown:?}");
            }
            Some(false) => assert_eq!(shown, [0.0; 3], "{what}: at {ray}"),
            None => {}
        }
    }
}

#[test]
fn a_ready_panorama_is_a_camera() {
    let cases = [
        ("equirectangular", uvec2(1000, 500), TAU),
        ("equirectangular", uvec2(600, 240), 1.2 * PI),
        ("cylindrical", uvec2(1000, 400), TAU),
        ("cylindrical", uvec2(500, 300), 0.8 * PI),
    ];
    for (lens, size, fov) in cases {
        let (picture, per_radian) = panorama(lens, size, fov);
        let [cx, cy] = [size.x, size.y].map(|side| (f64::from(side) - 1.0) / 2.0);
        let matrix =
            format!("matrix = {{ fx = {per_radian}, fy = {per_radian}, cx = {cx}, cy = {cy} }}");
        let camera = table(lens, size, if fov < TAU { &matrix } else { "" });
        // Whether the panorama shows a ray; unknown within a pixel of its edges.
        let half = size.as_dvec2() / 2.0 / per_radian;
        let is_inside = |along: f64, half: f64| {
            let near = 1.0 / per_radian;
            ((along.abs() - half).abs() > near).then_some(along.abs() < half)
        };
        let sees = |ray: DVec3| {
            let level = ray.x.hypot(ray.z);
            let down = if lens == "cylindrical" { ray.y / level } else { ray.y.atan2(level) };
            let column = if fov < TAU { is_inside(ray.x.atan2(ray.z), half.x) } else { Some(true) };
            let row = if half.y >= PI / 2.0 - 1e-9 { Some(true) } else { is_inside(down, half.y) };
            match (column, row) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }
        };
        for (pan, tilt, fov) in
            [(0.0, 0.0, 60.0), (179.0, 5.0, 80.0), (100.0, 80.0, 100.0), (-30.0, -85.0, 70.0)]
        {
            let view = ViewPose { pan, tilt, roll: 7.0, fov };
            let geometry =
                |fov, yaw, pitch| rig(fov, yaw, pitch, &camera).unwrap().geometry().unwrap();
            let options = StitchOptions::default();
            for device in panoweave_devices() {
                let stream = device.stream().unwrap();
                let what = format!("{lens}, {} columns, {view} on {device}", size.x);
                // The viewer's poses are relative to the axis of the rig's panorama.
                let viewer = Viewer::new(&geometry(60.0, 0.0, 0.0), false).unwrap();
                let format = FrameFormat::rgba8(160, 120);
                let found = shown(&stream, &viewer, [&picture], None, &view, &options, format);
                check(&view, &found, sees, &what);
                let warp = DeviceWarp::render(&stream, &geometry(fov, pan, tilt)).unwrap();
                let whole = Picture::from_pixels(size.x, size.y, rgba(&picture).to_vec()).unwrap();
                let stitched = stitch_pictures(&stream, &[&whole], &warp, &by_planes()).unwrap();
                let found = Raster {
                    size: uvec2(160, 120),
                    pixels: Pixels::Rgba8(stitched.pixels().to_vec()),
                };
                check(&ViewPose { roll: 0.0, ..view }, &found, sees, &format!("stitched {what}"));
            }
        }
    }
}

#[test]
fn a_panorama_of_more_than_a_circle_is_refused() {
    let camera = |lens: &str, fx: f64, fy: f64| {
        let matrix = format!("matrix = {{ fx = {fx}, fy = {fy}, cx = 499.5, cy = 249.5 }}");
        let camera = table(lens, uvec2(1000, 500), &matrix);
        rig(60.0, 0.0, 0.0, &camera).map(|_| ()).map_err(|error| error.to_string())
    };
    let circle = 1000.0 / TAU;
    assert_eq!(camera("equirectangular", circle, circle), Ok(()));
    assert_eq!(camera("cylindrical", circle, 10.0), Ok(()));
    for (lens, fx, fy, says) in [
        ("equirectangular", 159.0, 160.0, "fx of camera \"all\""),
        ("cylindrical", 159.0, 160.0, "more than 360°"),
        ("equirectangular", 160.0, 159.0, "more than 180°"),
    ] {
        let error = camera(lens, fx, fy).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
