//! Compares panoramas of two to six pictures with a blend of all cameras in f64, on every device. Also checks that the
//! colour corrections do not depend on the order of the pictures, and checks the errors for invalid arguments.

use glam::{DMat3, DVec2, uvec2};
use panoweave::device::Device;
use panoweave::geometry::Geometry;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::{Colours, StitchOptions, stitch_pictures};
use panoweave::panorama::{Coverage, PanoramaOptions, stitch_geometry};
use panoweave_tests::several::{CANVAS, all_seen, blend, made_up, noise, seen};
use panoweave_tests::{by_planes, panoweave_devices};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::Canvas;

fn stitched(device: &Device, geometry: &Geometry, pictures: &[Picture]) -> (Picture, Coverage) {
    let stream = device.stream().unwrap();
    let options = PanoramaOptions { stitch: by_planes(), ..PanoramaOptions::default() };
    let (panorama, coverage) = stitch_geometry(&stream, pictures, geometry, &options).unwrap();
    (panorama.picture, coverage)
}

#[test]
fn every_camera_counts_by_its_distance_from_the_edge() {
    for device in panoweave_devices() {
        for seed in 0..25 {
            let (geometry, pictures) = made_up(seed, noise);
            let (found, coverage) = stitched(&device, &geometry, &pictures);
            let mut covered = [0.0; 2];
            // The library adds one camera per step. Each step rounds by up to 0.5 levels. It also skips cameras with a
            // weight under 0.001, which changes the result by up to 0.26 levels.
            let steps = pictures.len() as f64 - 1.0;
            let allowed = steps * (0.5 + 0.26) + 0.05;
            for y in 0..CANVAS.y {
                for x in 0..CANVAS.x {
                    let all = all_seen(&geometry, &pictures, x, y);
                    covered[0] += f64::from(u8::from(!all.is_empty()));
                    covered[1] += f64::from(u8::from(all.len() > 1));
                    let Rgba8 { r, g, b, a } = found.pixels()[(y * CANVAS.x + x) as usize];
                    assert_eq!(a, 255);
                    for (level, exact) in [r, g, b].into_iter().zip(blend(&all)) {
                        let off = (f64::from(level) - exact).abs();
                        assert!(off < allowed, "{device}, {seed}: {off} levels at {x}, {y}");
                    }
                }
            }
            let pixels = f64::from(CANVAS.element_product());
            assert!((coverage.any - covered[0] / pixels).abs() < 1e-3, "{coverage:?}");
            assert!((coverage.overlap - covered[1] / pixels).abs() < 1e-3, "{coverage:?}");
            assert_eq!(coverage.cameras.len(), pictures.len());
        }
    }
}

#[test]
fn two_pictures_are_stitched_as_two_are() {
    for device in panoweave_devices() {
        let (geometry, pictures) = made_up(5, noise);
        assert_eq!(pictures.len(), 2);
        let stream = device.stream().unwrap();
        let warp = panoweave::warp::DeviceWarp::render(&stream, &geometry).unwrap();
        let options = by_planes();
        let stitched =
            stitch_pictures(&stream, &[&pictures[0], &pictures[1]], &warp, &options).unwrap();
        assert_eq!(self::stitched(&device, &geometry, &pictures).0.pixels(), stitched.pixels());
    }
}

/// Returns four cameras that are side by side, and their pictures, in the given order. Each camera shows a part of a
/// grey scene with its own exposure.
fn exposed(order: &[usize]) -> (Geometry, Vec<Picture>) {
    let (width, step) = (60, 35);
    let exposures = [1.0, 0.8, 0.7, 1.1];
    let canvas = Canvas { size: uvec2(width + 3 * step, 40), ..made_up(0, noise).0.canvas };
    let scene = |x: u32, y: u32| 60.0 + 40.0 * (f64::from(x) * 0.2).sin() + f64::from(y);
    let one = |&i: &usize| {
        let first = i as u32 * step;
        let place = DVec2::new(first.into(), 0.0);
        let mut camera = made_up(0, noise).0.cameras[0];
        camera.from_ray = DMat3::from_translation(-place);
        camera.size = uvec2(width, 40);
        let pixels = (0..width * 40).map(|at| {
            let level = (exposures[i] * scene(first + at % width, at / width)).round() as u8;
            Rgba8::opaque(level, level, level)
        });
        (camera, Picture::from_pixels(width, 40, pixels.collect()).unwrap())
    };
    let (cameras, pictures) = order.iter().map(one).unzip();
    (Geometry { canvas, cameras }, pictures)
}

#[test]
fn colours_do_not_depend_on_the_order() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let options = PanoramaOptions { match_colour: true, ..PanoramaOptions::default() };
        let mut first: Option<Vec<f32>> = None;
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let (geometry, pictures) = exposed(&order);
            let (made, _) = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
            assert!(made.unmatched.is_empty());
            let mut gains = vec![0.0; 4];
            order.iter().zip(&made.colours).for_each(|(&i, colour)| gains[i] = colour.gain.y);
            // The gains must compensate the exposures without changing the overall brightness.
            let undone: Vec<f32> =
                gains.iter().zip([1.0, 0.8, 0.7, 1.1]).map(|(gain, by)| gain * by).collect();
            for exposure in &undone {
                assert!((exposure / undone[0] - 1.0).abs() < 0.02, "{device}: {gains:?}");
            }
            let logs: f32 = gains.iter().map(|gain| gain.ln()).sum();
            assert!(logs.abs() < 1e-3, "{device}: {gains:?}");
            let first = first.get_or_insert(gains.clone());
            for (a, b) in gains.iter().zip(first) {
                assert!((a - *b).abs() < 1e-3, "{device}, {order:?}: {gains:?}");
            }
        }
    }
}

#[test]
fn a_turned_panorama_is_the_panorama_turned() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (geometry, pictures) = made_up(3, noise);
        assert!(pictures.len() > 3);
        let made = |flip| {
            let stitch = StitchOptions { flip, ..by_planes() };
            let options = PanoramaOptions { stitch, owners: true, ..PanoramaOptions::default() };
            stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0
        };
        let (upright, turned) = (made(false), made(true));
        assert!(upright.picture.pixels().iter().rev().eq(turned.picture.pixels()), "{device}");
        // `owners` names one camera for each pixel, which must cover the pixel.
        for (i, &owner) in upright.owners.iter().enumerate() {
            let (x, y) = (i as u32 % CANVAS.x, i as u32 / CANVAS.x);
            let edges: Vec<f64> = geometry
                .cameras
                .iter()
                .zip(&pictures)
                .map(|(camera, picture)| seen(camera, picture, x, y).map_or(0.0, |(_, edge)| edge))
                .collect();
            let nobody = edges.iter().all(|&edge| edge == 0.0);
            assert_eq!(nobody, owner == u8::MAX, "{device}: {x}, {y}");
            assert!(nobody || edges[usize::from(owner)] > 0.0, "{device}: {x}, {y}");
        }
    }
}

#[test]
fn what_is_no_panorama() {
    let stream = Device::cpu().stream().unwrap();
    let (geometry, pictures) = made_up(3, noise);
    let options = PanoramaOptions { stitch: by_planes(), ..PanoramaOptions::default() };
    let error = |pictures: &[Picture], geometry: &Geometry, options: &PanoramaOptions| {
        stitch_geometry(&stream, pictures, geometry, options).unwrap_err().to_string()
    };
    for count in [0, 1, 65] {
        let cameras = geometry.cameras.iter().copied().cycle().take(count).collect();
        let said = error(&pictures, &Geometry { cameras, ..geometry }, &options);
        assert!(said.contains(&format!("{count} cameras; it must have 2 to 64")), "{said}");
    }
    let said = error(&pictures[1..], &geometry, &options);
    assert!(said.contains("4 pictures for a geometry of 5 cameras"), "{said}");
    let mut others = pictures.clone();
    others.swap(0, 1);
    let said = error(&others, &geometry, &options);
    assert!(said.contains("picture 1 is"), "{said}");
    let colour = Colour { gamma: 0.9, ..Colour::IDENTITY };
    let stitch = StitchOptions { colours: Colours::of([Colour::IDENTITY, colour]), ..by_planes() };
    let said = error(&pictures, &geometry, &PanoramaOptions { stitch, ..options });
    assert!(said.contains("given only for two pictures"), "{said}");
}
