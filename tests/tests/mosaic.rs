//! Mosaics against the blend of all cameras at once, in f64, on every device; and in which order pictures
//! are added.

use glam::{DMat3, DVec2, UVec2, uvec2};
use panoweave::device::Device;
use panoweave::geometry::Geometry;
use panoweave::mosaic::{Mosaic, Step};
use panoweave::picture::Picture;
use panoweave::stitch::{StitchOptions, stitch_pictures};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;
use shared_types::warp::{Camera, Canvas};

const CANVAS: UVec2 = uvec2(97, 61);

/// Cameras that are turned and scaled over a planar canvas, with pictures of noise.
fn made_up(seed: u64) -> (Geometry, Vec<Picture>) {
    let mut random = Random::new(seed);
    let r = &mut random;
    let canvas = Canvas::of_pixels(DVec2::ZERO, CANVAS);
    let (mut cameras, mut pictures) = (Vec::new(), Vec::new());
    for _ in 0..2 + seed % 5 {
        let size = uvec2(20 + r.below(50) as u32, 20 + r.below(40) as u32);
        let (angle, scale) = (r.between(-0.3, 0.3).into(), r.between(0.7, 1.4).into());
        let place = DVec2::new(r.between(0.0, 70.0).into(), r.between(0.0, 40.0).into());
        let to_canvas = DMat3::from_scale_angle_translation(DVec2::splat(scale), angle, place);
        cameras.push(Camera::from_matrix(to_canvas.inverse(), size));
        let noise = (0..size.element_product()).map(|_| {
            let [r, g, b] = [0, 1, 2].map(|_| r.below(256) as u8);
            Rgba8::opaque(r, g, b)
        });
        pictures.push(Picture::from_pixels(size.x, size.y, noise.collect()).unwrap());
    }
    (Geometry { canvas, cameras }, pictures)
}

fn mosaic(device: &Device, geometry: &Geometry, pictures: &[Picture]) -> (Picture, Mosaic) {
    let stream = device.stream().unwrap();
    let mut mosaic = Mosaic::new(&stream, geometry).unwrap();
    let mut panorama = None;
    while let Some(Step { left, right, warp }) = mosaic.step(&stream).unwrap() {
        let left = left.map_or_else(|| panorama.as_ref().unwrap(), |left| &pictures[left]);
        let options = StitchOptions::default();
        let made = stitch_pictures(&stream, left, &pictures[right], &warp, &options).unwrap();
        panorama = Some(made);
    }
    (panorama.unwrap(), mosaic)
}

/// What a camera sees at a canvas pixel, and its distance from the picture's edge.
fn seen(camera: &Camera, picture: &Picture, x: u32, y: u32) -> Option<([f64; 3], f64)> {
    let at = (camera.from_ray * DVec2::new(x.into(), y.into()).extend(1.0)).truncate();
    let size = camera.size.as_dvec2();
    if !(at.x >= 0.0 && at.y >= 0.0 && at.x < size.x && at.y < size.y) {
        return None;
    }
    let (low, part) = (at.floor(), at - at.floor());
    let pixel = |dx: f64, dy: f64| {
        let place = (low + DVec2::new(dx, dy)).min(size - 1.0).as_uvec2();
        let Rgba8 { r, g, b, .. } = picture.pixels()[(place.y * camera.size.x + place.x) as usize];
        [r, g, b].map(f64::from)
    };
    let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(dx, dy)| {
        let weight =
            (1.0 - dx + (2.0 * dx - 1.0) * part.x) * (1.0 - dy + (2.0 * dy - 1.0) * part.y);
        (weight, pixel(dx, dy))
    });
    let level = |c: usize| corners.iter().map(|(weight, pixel)| weight * pixel[c]).sum::<f64>();
    let edge = (at + 1.0).min(size - at).min_element() / size.min_element();
    Some(([0, 1, 2].map(level), edge))
}

#[test]
fn every_camera_counts_by_its_distance_from_the_edge() {
    for device in panoweave_devices() {
        for seed in 0..25 {
            let (geometry, pictures) = made_up(seed);
            let (found, mosaic) = mosaic(&device, &geometry, &pictures);
            let mut covered = [0.0; 2];
            // A camera that counts less than a thousandth is left out, and each step rounds.
            let steps = pictures.len() as f64 - 1.0;
            let allowed = steps * (0.5 + 0.26) + 0.05;
            for y in 0..CANVAS.y {
                for x in 0..CANVAS.x {
                    let all: Vec<_> = geometry
                        .cameras
                        .iter()
                        .zip(&pictures)
                        .filter_map(|(camera, picture)| seen(camera, picture, x, y))
                        .collect();
                    covered[0] += f64::from(u8::from(!all.is_empty()));
                    covered[1] += f64::from(u8::from(all.len() > 1));
                    let total: f64 = all.iter().map(|(_, edge)| edge).sum();
                    let Rgba8 { r, g, b, a } = found.pixels()[(y * CANVAS.x + x) as usize];
                    assert_eq!(a, 255);
                    for (c, level) in [r, g, b].into_iter().enumerate() {
                        let sum: f64 = all.iter().map(|(levels, edge)| edge * levels[c]).sum();
                        let exact = if all.is_empty() { 0.0 } else { sum / total };
                        let off = (f64::from(level) - exact).abs();
                        assert!(off < allowed, "{device}, {seed}: {off} levels at {x}, {y}");
                    }
                }
            }
            let pixels = f64::from(CANVAS.element_product());
            let coverage = mosaic.coverage();
            assert!((coverage.any - covered[0] / pixels).abs() < 1e-3, "{coverage:?}");
            assert!((coverage.overlap - covered[1] / pixels).abs() < 1e-3, "{coverage:?}");
            assert_eq!(coverage.cameras.len(), pictures.len());
            assert!(mosaic.is_done());
        }
    }
}

#[test]
fn two_pictures_are_stitched_as_two_are() {
    for device in panoweave_devices() {
        let (geometry, pictures) = made_up(5);
        assert_eq!(pictures.len(), 2);
        let stream = device.stream().unwrap();
        let warp = panoweave::warp::DeviceWarp::render(&stream, &geometry).unwrap();
        let options = StitchOptions::default();
        let stitched =
            stitch_pictures(&stream, &pictures[0], &pictures[1], &warp, &options).unwrap();
        assert_eq!(mosaic(&device, &geometry, &pictures).0.pixels(), stitched.pixels());
    }
}

#[test]
fn neither_one_camera_nor_too_many() {
    let stream = Device::cpu().stream().unwrap();
    let (geometry, _) = made_up(0);
    for count in [0, 1, 65] {
        let cameras = geometry.cameras.iter().copied().cycle().take(count).collect();
        let error = Mosaic::new(&stream, &Geometry { cameras, ..geometry }).unwrap_err();
        assert!(error.to_string().contains(&format!("{count} cameras")), "{error}");
    }
}
