//! Tests of the local refinement: the kernel against coordinates in f64, and panoramas of two cameras whose near half
//! is displaced against the truth.

use std::f32::consts::TAU;

use glam::{DMat3, DVec2, UVec2, Vec2, dvec2, uvec2, vec2};
use kernels_gpu::warp::{project, ray};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat, YuvEncoding};
use panoweave::geometry::Geometry;
use panoweave::io::picture::Picture;
use panoweave::ops::refine::{RefineError, RefineOptions, WarpRefiner};
use panoweave::ops::seam::{Blend, SeamOptions};
use panoweave::panorama::{PanoramaOptions, stitch_geometry, stitch_warp};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_tests::{by_planes, panoweave_devices};
use shared_types::Rgba8;
use shared_types::warp::{Camera, Canvas};

const CANVAS: UVec2 = uvec2(420, 240);
const SIZE: UVec2 = uvec2(280, 240);

/// The first row of the near half of the scene.
const NEAR: f32 = 120.0;

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

/// Returns the pictures of both cameras. In the near half, both are displaced by half of `parallax`, to opposite sides.
fn pictures(parallax: Vec2) -> [Picture; 2] {
    [(0.0, 0.5), (140.0, -0.5)].map(|(x, side)| {
        let pixel = |i: u32| {
            let at = uvec2(i % SIZE.x, i / SIZE.x).as_vec2();
            let moved = if at.y >= NEAR { side * parallax } else { Vec2::ZERO };
            let level = level(at + vec2(x, 0.0) + moved).round() as u8;
            Rgba8::opaque(level, level, level)
        };
        let pixels = (0..SIZE.element_product()).map(pixel).collect();
        Picture::from_pixels(SIZE.x, SIZE.y, pixels).unwrap()
    })
}

/// Returns the mean contrast lost in the overlap: how much less a panorama's levels vary than those of the scene. A
/// panorama that shows two displaced copies loses contrast.
fn doubled(panorama: &Picture, rows: std::ops::Range<u32>) -> f64 {
    let spread = |value: &dyn Fn(UVec2) -> f64| {
        let all: Vec<f64> =
            rows.clone().flat_map(|y| (170..250).map(move |x| uvec2(x, y))).map(value).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / all.len() as f64
    };
    let shown = spread(&|at| f64::from(panorama.pixels()[(at.y * CANVAS.x + at.x) as usize].g));
    1.0 - shown / spread(&|at| f64::from(level(at.as_vec2())))
}

#[test]
fn near_objects_are_not_doubled() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let pictures = pictures(vec2(5.0, 1.0));
        let stitched = |refine| {
            let options = PanoramaOptions { stitch: by_planes(), refine, ..Default::default() };
            let (made, _) = stitch_geometry(&stream, &pictures, &geometry(), &options).unwrap();
            let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
            let all = pictures.each_ref();
            let by_warp = stitch_warp(&stream, &all, &warp, &options).unwrap();
            [made.picture, by_warp.picture]
        };
        for before in stitched(None) {
            let lost = doubled(&before, 140..230);
            assert!(lost > 0.25, "{device}: {lost}");
        }
        for after in stitched(Some(RefineOptions::default())) {
            let (near, far) = (doubled(&after, 140..230), doubled(&after, 10..100));
            assert!(near < 0.08 && far < 0.05, "{device}: {near}, {far}");
        }
    }
}

#[test]
fn a_refined_seam_fits_together() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let pictures = pictures(vec2(4.0, -2.0));
        let blend = Blend::Seam(SeamOptions::default());
        let refine = Some(RefineOptions::default());
        let options = PanoramaOptions { stitch: by_planes(), blend, refine, ..Default::default() };
        let (made, _) = stitch_geometry(&stream, &pictures, &geometry(), &options).unwrap();
        let near = doubled(&made.picture, 140..230);
        assert!(near < 0.08, "{device}: {near}");
    }
}

/// Returns a frame of a picture: RGBA, or its green channel as the luma of NV12.
fn bytes(picture: &Picture, nv12: bool) -> Vec<u8> {
    if !nv12 {
        return bytemuck::cast_slice(picture.pixels()).to_vec();
    }
    let mut bytes: Vec<u8> = picture.pixels().iter().map(|pixel| pixel.g).collect();
    bytes.resize(bytes.len() * 3 / 2, 128);
    bytes
}

/// Returns the displacement of the cameras against each other in the middle of the near half of the overlap.
fn relative(refiner: &WarpRefiner) -> Vec2 {
    let found = refiner.refinement().unwrap();
    let node = (vec2(210.0, 180.0) / found.spacing()).round().as_uvec2();
    let at = (node.y * found.nodes().x + node.x) as usize;
    found.shifts(0)[at] - found.shifts(1)[at]
}

#[test]
fn videos_follow_near_objects_in_small_steps() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
        for nv12 in [false, true] {
            let mut refiner = WarpRefiner::new(&stream, &warp, RefineOptions::default()).unwrap();
            let mut update = |parallax: Vec2| {
                let bytes = pictures(parallax).map(|picture| bytes(&picture, nv12));
                let format = match nv12 {
                    true => FrameFormat::nv12(SIZE.x, SIZE.y, YuvEncoding::default()),
                    false => FrameFormat::rgba8(SIZE.x, SIZE.y),
                };
                let frames = bytes.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
                let refined = refiner.update(&stream, &frames).unwrap();
                (relative(&refiner), refined)
            };
            // At the position p, camera A shows the scene at p + 2.5, and B at p − 2.5. So A(p − 5) = B(p).
            let (first, refined) = update(vec2(5.0, 0.0));
            assert!((first - vec2(-5.0, 0.0)).length() < 0.6, "{device}: {first}");
            let refined = refined.plane(Plane::X(0)).download(&stream).unwrap();
            let inside = |x: &f32| (0.0..=(SIZE.x - 1) as f32).contains(x);
            let mut rows = refined.chunks(CANVAS.x as usize);
            assert!(rows.all(|row| row[..SIZE.x as usize].iter().all(inside)));
            let mut last = first;
            for n in 0..7 {
                let (now, _) = update(vec2(-1.0, 0.0));
                // Each of the two cameras moves by at most one pixel.
                assert!((now - last).length() < 2.01, "{device}, {n}: {last} to {now}");
                last = now;
            }
            assert!((last - vec2(1.0, 0.0)).length() < 0.3, "{device}: {last}");
        }
    }
}

/// Returns the displacement of a camera at a panorama position in f64, by bilinear interpolation.
fn shift(shifts: &[Vec2], nodes: UVec2, spacing: f64, at: DVec2) -> DVec2 {
    let at = at / spacing;
    let (low, part) = (at.floor().as_uvec2(), at.fract());
    let node = |x: u32, y: u32| shifts[(y * nodes.x + x) as usize].as_dvec2();
    let above = node(low.x, low.y).lerp(node(low.x + 1, low.y), part.x);
    let below = node(low.x, low.y + 1).lerp(node(low.x + 1, low.y + 1), part.x);
    above.lerp(below, part.y)
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
    let canvas = Canvas {
        scale: dvec2(250.0, 250.0),
        projection: shared_types::warp::Projection::CYLINDRICAL,
        ..Canvas::of_pixels(CANVAS.as_dvec2() / 2.0, CANVAS)
    };
    let geometry = Geometry { canvas, cameras: vec![camera(-12.0), camera(12.0)] };
    let pictures = pictures(vec2(3.0, 1.0));
    let bytes = pictures.each_ref().map(|picture| bytes(picture, false));
    let format = FrameFormat::rgba8(SIZE.x, SIZE.y);
    let frames = bytes.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
    let mut all = Vec::new();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let options = RefineOptions { limit: 8.0 };
        let mut refiner = WarpRefiner::new(&stream, &warp, options).unwrap();
        let refined = refiner.update(&stream, &frames).unwrap();
        let found = refiner.refinement().unwrap();
        assert!(found.largest() > 0.5, "{device}: {}", found.largest());
        let planes = |plane| refined.plane(plane).download(&stream).unwrap();
        let mut checked = 0;
        for (i, camera) in geometry.cameras.iter().enumerate() {
            let (x, y) = (planes(Plane::X(i)), planes(Plane::Y(i)));
            for at in 0..CANVAS.element_product() {
                let point = uvec2(at % CANVAS.x, at / CANVAS.x).as_dvec2();
                let moved = shift(found.shifts(i), found.nodes(), found.spacing().into(), point);
                let source = |point: DVec2| {
                    let place = project(camera, camera.from_ray * ray(&canvas, point))?;
                    let inner = (SIZE - 1).as_dvec2();
                    (place.cmpge(DVec2::ZERO).all() && place.cmple(inner).all()).then_some(place)
                };
                let (Some(_), Some(exact)) = (source(point), source(point + moved)) else {
                    continue;
                };
                let off = dvec2(x[at as usize].into(), y[at as usize].into()) - exact;
                // The error of the linear step is about d² / 2f.
                let allowed = 0.01 + moved.length_squared() / 250.0;
                assert!(off.length() < allowed, "{device}, {i} at {point}: {off} for {moved}");
                checked += 1;
            }
            all.push((x, y));
        }
        assert!(checked > 60_000, "{checked}");
    }
    // Every device computes the same coordinates up to rounding.
    for (n, (x, y)) in all.iter().enumerate().skip(geometry.cameras.len()) {
        let first = &all[n % geometry.cameras.len()];
        let pairs = x.iter().zip(&first.0).chain(y.iter().zip(&first.1));
        let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most < 1e-3, "{most}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let warp = DeviceWarp::render(&stream, &geometry()).unwrap();
    for limit in [0.0, 256.5, f32::NAN] {
        let refused = WarpRefiner::new(&stream, &warp, RefineOptions { limit });
        assert!(matches!(refused, Err(RefineError::Limit { .. })), "{limit}");
    }
    let mut refiner = WarpRefiner::new(&stream, &warp, RefineOptions::default()).unwrap();
    let pixels = [0; 4 * 4 * 4];
    let small = Frame::tight(FrameFormat::rgba8(4, 4), &pixels).unwrap();
    let refused = refiner.update(&stream, &[small]);
    assert!(matches!(refused, Err(RefineError::Frames { found: 1, expected: 2 })));
    let refused = refiner.update(&stream, &[small, small]);
    assert!(matches!(refused, Err(RefineError::FrameSize { camera: 0, .. })));
    assert!(refiner.refinement().is_none());
    let bytes = pictures(Vec2::ZERO).map(|picture| bytes(&picture, false));
    let format = FrameFormat::rgba8(SIZE.x, SIZE.y);
    let frames = bytes.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
    refiner.update(&stream, &frames).unwrap();
    let other = warp.resized(&stream, CANVAS / 2).unwrap();
    let refused = other.refined(&stream, refiner.refinement().unwrap());
    assert!(refused.unwrap_err().to_string().contains("another warp"));
}
