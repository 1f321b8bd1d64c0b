//! Tests of the local refinement: the kernel against coordinates in f64, and panoramas of two cameras whose near half
//! is displaced against the truth.

use std::f32::consts::TAU;

use glam::{DMat3, DVec2, UVec2, Vec2, dvec2, uvec2, vec2};
use kernels_gpu::warp::{project, ray};
use panoweave::device::{Device, Stream};
use panoweave::frame::{Frame, FrameFormat, YuvEncoding};
use panoweave::geometry::Geometry;
use panoweave::io::picture::Picture;
use panoweave::ops::blend::Blend;
use panoweave::ops::refine::{RefineError, RefineOptions, WarpRefiner};
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{Lookup, StitchOptions};
use panoweave::panorama::{PanoramaOptions, stitch_geometry, stitch_warp};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_tests::panoweave_devices;
use shared_types::Rgba8;
use shared_types::warp::{Camera, Canvas, Projection};

const CANVAS: UVec2 = uvec2(420, 240);
const SIZE: UVec2 = uvec2(280, 240);

/// Returns the level of the scene at a position: a sum of waves in many directions.
fn level(at: Vec2) -> f32 {
    let wave = |i: i32| {
        let (angle, length) = (2.4 * i as f32, 9.0 + 2.3 * (i % 7) as f32);
        (at.dot(Vec2::from_angle(angle)) * TAU / length + i as f32).sin()
    };
    128.0 + 14.0 * (0..14).map(wave).sum::<f32>()
}

/// Two cameras side by side, which share 140 columns.
fn geometry() -> Geometry {
    let camera = |x: f64| Camera::from_matrix(DMat3::from_translation(dvec2(-x, 0.0)), SIZE);
    let canvas = Canvas::of_pixels(DVec2::ZERO, CANVAS);
    Geometry { canvas, cameras: vec![camera(0.0), camera(140.0)] }
}

/// Returns the pictures of both cameras. In the lower half, which is near, both are displaced by half of `parallax`, to
/// opposite sides.
fn pictures(parallax: Vec2) -> [Picture; 2] {
    [(0.0, 0.5), (140.0, -0.5)].map(|(x, side)| {
        let pixel = |i: u32| {
            let at = uvec2(i % SIZE.x, i / SIZE.x).as_vec2();
            let moved = if at.y >= 120.0 { side * parallax } else { Vec2::ZERO };
            let level = level(at + vec2(x, 0.0) + moved).round() as u8;
            Rgba8::opaque(level, level, level)
        };
        let pixels = (0..SIZE.element_product()).map(pixel).collect();
        Picture::from_pixels(SIZE.x, SIZE.y, pixels).unwrap()
    })
}

/// Returns the contrast lost in rows of the overlap: how much less a panorama's levels vary than those of the scene. A
/// panorama that shows two displaced copies loses contrast.
fn lost(panorama: &Picture, rows: std::ops::Range<u32>) -> f32 {
    let spread = |level: &dyn Fn(UVec2) -> f32| -> f32 {
        let all = rows.clone().flat_map(|y| (170..250).map(move |x| uvec2(x, y)));
        all.map(|at| (level(at) - 128.0).powi(2)).sum()
    };
    let shown = spread(&|at| panorama.pixels()[(at.y * CANVAS.x + at.x) as usize].g.into());
    1.0 - shown / spread(&|at| level(at.as_vec2()))
}

#[test]
fn near_objects_are_not_doubled() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
        let seam = Blend::Seam(SeamOptions::default());
        // Two pictures are stitched with a warp by planes, and in parts of the panorama by the cubic lookup.
        let lookups = [Lookup::Planes, Lookup::Cubic];
        for (lookup, blend) in lookups.into_iter().flat_map(|l| [(l, Blend::Feather), (l, seam)]) {
            let pictures = pictures(vec2(5.0, 1.0));
            let stitched = |refine| {
                let stitch = StitchOptions { lookup, ..StitchOptions::default() };
                let options = PanoramaOptions { stitch, blend, refine, ..Default::default() };
                let made = stitch_geometry(&stream, &pictures, &geometry(), &options).unwrap();
                let by_warp = stitch_warp(&stream, &pictures.each_ref(), &warp, &options).unwrap();
                [made.0.picture, by_warp.picture]
            };
            let context = format!("{device}, {lookup:?}, {blend:?}");
            for before in stitched(None) {
                let near = lost(&before, 140..230);
                assert!(near > 0.25 || blend == seam, "{context}: {near}");
            }
            for after in stitched(Some(RefineOptions::default())) {
                let (near, far) = (lost(&after, 140..230), lost(&after, 10..100));
                assert!(near < 0.08 && far < 0.05, "{context}: {near}, {far}");
            }
        }
    }
}

/// Updates a refiner with frames of RGBA, or of NV12 with the pictures' green channels as luma.
fn update(
    refiner: &mut WarpRefiner,
    stream: &Stream,
    pictures: &[Picture],
    nv12: bool,
) -> Result<DeviceWarp, RefineError> {
    let frame = |picture: &Picture| {
        let (width, height, pixels) = (picture.width(), picture.height(), picture.pixels());
        if !nv12 {
            let bytes = bytemuck::cast_slice(pixels).to_vec();
            return (FrameFormat::rgba8(width, height), bytes);
        }
        let luma = pixels.iter().map(|pixel| pixel.g);
        let bytes = luma.chain(std::iter::repeat_n(128, pixels.len() / 2)).collect();
        (FrameFormat::nv12(width, height, YuvEncoding::default()), bytes)
    };
    let frames: Vec<(FrameFormat, Vec<u8>)> = pictures.iter().map(frame).collect();
    let frames = frames.iter().map(|(format, bytes)| Frame::tight(*format, bytes).unwrap());
    refiner.update(stream, &frames.collect::<Vec<_>>())
}

#[test]
fn videos_follow_near_objects_in_small_steps() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
        for nv12 in [false, true] {
            let mut refiner = WarpRefiner::new(&stream, &warp, RefineOptions::default()).unwrap();
            let mut moved = |parallax: Vec2| {
                update(&mut refiner, &stream, &pictures(parallax), nv12).unwrap();
                // The displacement of the cameras against each other in the middle of the near half of the overlap.
                let found = refiner.refinement().unwrap();
                let node = (vec2(210.0, 180.0) / found.spacing).round().as_uvec2();
                let at = (node.y * found.nodes.x + node.x) as usize;
                found.shifts[0][at] - found.shifts[1][at]
            };
            // At the position p, camera A shows the scene at p + 2.5, and B at p − 2.5. So A(p − 5) = B(p).
            let mut last = moved(vec2(5.0, 0.0));
            assert!((last - vec2(-5.0, 0.0)).length() < 0.6, "{device}: {last}");
            for n in 0..7 {
                let now = moved(vec2(-1.0, 0.0));
                // Each of the two cameras moves by at most one pixel.
                assert!((now - last).length() < 2.01, "{device}, {n}: {last} to {now}");
                last = now;
            }
            assert!((last - vec2(1.0, 0.0)).length() < 0.3, "{device}: {last}");
        }
    }
}

/// The kernel against coordinates in f64. The cameras are turned by 12° to each side, with lens distortion.
#[test]
fn refined_coordinates_are_those_of_the_moved_position() {
    let camera = |yaw: f64| Camera {
        from_ray: DMat3::from_rotation_y(yaw.to_radians()),
        focal: dvec2(260.0, 260.0),
        centre: SIZE.as_dvec2() / 2.0,
        distortion: [-0.1, 0.02, 0.0, 0.0, 0.0],
        limit: 1.2,
        ..Camera::from_matrix(DMat3::IDENTITY, SIZE)
    };
    let flat = Canvas::of_pixels(CANVAS.as_dvec2() / 2.0, CANVAS);
    let (scale, projection) = (dvec2(250.0, 250.0), Projection::CYLINDRICAL);
    let canvas = Canvas { scale, projection, ..flat };
    let geometry = Geometry { canvas, cameras: vec![camera(-12.0), camera(12.0)] };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let mut refiner = WarpRefiner::new(&stream, &warp, RefineOptions { limit: 8.0 }).unwrap();
        let refined = update(&mut refiner, &stream, &pictures(vec2(3.0, 1.0)), false).unwrap();
        let found = refiner.refinement().unwrap();
        let mut checked = 0;
        for (i, camera) in geometry.cameras.iter().enumerate() {
            let plane = |plane| refined.plane(plane).download(&stream).unwrap();
            let places = plane(Plane::X(i)).into_iter().zip(plane(Plane::Y(i)));
            let source = |point: DVec2| {
                let place = project(camera, camera.from_ray * ray(&canvas, point))?;
                let inner = (SIZE - 1).as_dvec2();
                (place.cmpge(DVec2::ZERO).all() && place.cmple(inner).all()).then_some(place)
            };
            for (at, (x, y)) in (0..).zip(places) {
                let point = uvec2(at % CANVAS.x, at / CANVAS.x).as_dvec2();
                let in_nodes = point / f64::from(found.spacing);
                let (low, part) = (in_nodes.floor().as_uvec2(), in_nodes.fract());
                let row = |y: u32| {
                    let first = (y * found.nodes.x + low.x) as usize;
                    let [left, right] = [0, 1].map(|x| found.shifts[i][first + x].as_dvec2());
                    left.lerp(right, part.x)
                };
                let moved = row(low.y).lerp(row(low.y + 1), part.y);
                let (Some(_), Some(exact)) = (source(point), source(point + moved)) else {
                    continue;
                };
                let off = dvec2(x.into(), y.into()) - exact;
                // The error of the linear step is about d² / 2f.
                let allowed = 0.01 + moved.length_squared() / 250.0;
                assert!(off.length() < allowed, "{device}, {i} at {point}: {off} for {moved}");
                checked += i32::from(moved.length() > 0.1);
            }
        }
        assert!(checked > 5_000, "{device}: {checked}");
    }
}

#[test]
fn invalid_options_and_frames_are_rejected() {
    let stream = Device::cpu().stream().unwrap();
    let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
    for limit in [0.0, 256.5, f32::NAN] {
        let refused = WarpRefiner::new(&stream, &warp, RefineOptions { limit });
        assert!(refused.unwrap_err().to_string().contains("must be 1 to 256"), "{limit}");
    }
    let mut refiner = WarpRefiner::new(&stream, &warp, RefineOptions::default()).unwrap();
    let refused = update(&mut refiner, &stream, &pictures(Vec2::ZERO)[..1], false).unwrap_err();
    assert!(refused.to_string().contains("pass one frame per camera"), "{refused}");
}
