//! Tests of stitches of pictures with 16 bits per channel: against the specification's formula in f64, GPU against CPU,
//! a ramp with every level, and against the stitch of the same pictures with 8 bits.

use glam::{DMat3, DVec2, UVec2, Vec3, uvec2};
use panoweave::device::{Device, Image, Stream};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::io::picture::{Picture, Rgba16};
use panoweave::ops::blend::Blend;
use panoweave::ops::multiband::MultibandOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{
    Colours, Covers, Lookup, StitchOptions, stitch_images, stitch_pictures,
};
use panoweave::panorama::{PanoramaOptions, stitch_geometry, stitch_warp};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::random::Random;
use panoweave_tests::several::{all_seen, blend, made_up, noise};
use panoweave_tests::{by_planes, gpu, oracle, panoweave_devices, supported};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::UNSEEN;

use super::sum::{Case, cases};

/// Returns random pictures for the cameras of a case.
fn pictures(case: &Case, seed: u64) -> Vec<Picture<Rgba16>> {
    let mut random = Random::new(seed);
    let mut picture = |size: UVec2| {
        let mut pixel = |_| {
            let [r, g, b] = [0; 3].map(|_| random.bits() as u16);
            Rgba16::opaque(r, g, b)
        };
        let pixels = (0..size.element_product()).map(&mut pixel).collect();
        Picture::from_pixels(size.x, size.y, pixels).unwrap()
    };
    case.sources.iter().map(|source| picture(source.size)).collect()
}

fn run(stream: &Stream, case: &Case, pictures: &[Picture<Rgba16>]) -> Picture<Rgba16> {
    let warp = DeviceWarp::upload(stream, &case.warp).unwrap();
    let pictures: Vec<_> = pictures.iter().collect();
    stitch_pictures(stream, &pictures, &warp, &case.options).unwrap()
}

fn channels(Rgba16 { r, g, b, .. }: Rgba16) -> [f64; 3] {
    [r, g, b].map(f64::from)
}

/// Returns the largest difference from exact levels (0 to 255) in 16-bit steps. Pixels without a level must be black.
fn worst(picture: &Picture<Rgba16>, exact: &[Option<[f64; 3]>]) -> f64 {
    let mut worst = 0.0_f64;
    for (pixel, exact) in picture.pixels().iter().zip(exact) {
        let Some(exact) = exact else {
            assert_eq!(*pixel, Rgba16::BLACK);
            continue;
        };
        assert_eq!(pixel.a, u16::MAX);
        for (found, exact) in channels(*pixel).into_iter().zip(exact) {
            worst = worst.max((found - 257.0 * exact).abs());
        }
    }
    worst
}

#[test]
fn random_pictures_are_within_one_step_of_f64() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut most = 0.0_f64;
        for (seed, cameras) in cases(12) {
            let case = Case::random(seed, cameras);
            let pictures = pictures(&case, seed);
            let exact = case.exact_of(|camera, u, v| {
                let [width, height] =
                    case.sources[camera].size.to_array().map(|side| side as usize);
                let pixels = pictures[camera].pixels();
                let level = |at: usize| channels(pixels[at]).map(|value| value / 257.0);
                match case.options.lookup {
                    Lookup::Cubic => oracle::cubic_mix(width, height, u, v, level),
                    _ => oracle::mix(width, height, u, v, level),
                }
            });
            let off = worst(&run(&stream, &case, &pictures), &exact);
            // The bound includes half a step for rounding. A gamma of 0.45 multiplies small errors near black.
            assert!(off < 1.0, "{device}, seed {seed}, {cameras} cameras: {off} steps");
            most = most.max(off);
        }
        println!("{device} against f64: {most:.4} 16-bit steps");
    }
}

#[test]
fn gpu_and_cpu_agree_on_sixteen_bits() {
    let Some(gpu) = gpu() else { return };
    let streams = [Device::simulator(), gpu].map(|device| device.stream().unwrap());
    for (seed, cameras) in cases(6) {
        let case = Case::random(2000 + seed, cameras);
        let pictures = pictures(&case, seed);
        let [on_cpu, on_gpu] = streams.each_ref().map(|stream| run(stream, &case, &pictures));
        for (cpu, gpu) in on_cpu.pixels().iter().zip(on_gpu.pixels()) {
            for (cpu, gpu) in channels(*cpu).into_iter().zip(channels(*gpu)) {
                assert!((cpu - gpu).abs() <= 2.0, "seed {seed}: {cpu} and {gpu}");
            }
        }
    }
}

/// The size of a picture with all 65,536 levels, which rise by 4 from column to column and by 1 from row to row.
const RAMP: UVec2 = uvec2(16_384, 4);

/// Returns a ramp in all channels, in opposite directions.
fn ramp() -> Picture<Rgba16> {
    let pixel = |at: u32| {
        let level = (4 * (at % RAMP.x) + at / RAMP.x) as u16;
        Rgba16::opaque(level, u16::MAX - level, level ^ 0x8000)
    };
    Picture::from_pixels(RAMP.x, RAMP.y, (0..RAMP.element_product()).map(pixel).collect()).unwrap()
}

#[test]
fn every_level_of_a_ramp_is_unchanged() {
    let area = RAMP.element_product();
    let plane = |plane: Plane| -> Vec<f32> {
        let value = |at: u32| match plane {
            Plane::X(0) => (at % RAMP.x) as f32,
            Plane::Y(0) => (at / RAMP.x) as f32,
            Plane::Weight(0) => 1.0,
            Plane::Weight(_) => 0.0,
            _ => UNSEEN,
        };
        (0..area).map(value).collect()
    };
    let warp = Warp::new(RAMP, [RAMP, UVec2::ONE], Plane::all(2).map(plane).collect::<Vec<_>>());
    let (warp, ramp) = (warp.unwrap(), ramp());
    let other = Picture::filled(1, 1, Rgba16::opaque(1, 2, 3));
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &warp).unwrap();
        for lookup in Lookup::ALL {
            for flip in [false, true] {
                let options = StitchOptions { lookup, flip, ..StitchOptions::default() };
                let found = stitch_pictures(&stream, &[&ramp, &other], &warp, &options);
                let Some(found) = supported(found) else { continue };
                let mut pixels = found.into_pixels();
                if flip {
                    pixels.reverse();
                }
                assert!(pixels == ramp.pixels(), "{device}, {lookup:?}, {flip}");
            }
        }
    }
}

/// Two and three cameras side by side that show a ramp each. Every blend must keep the levels outside the overlaps and
/// beyond the reach of multiband blending.
#[test]
fn every_blend_keeps_the_levels_outside_overlaps() {
    const OVERLAP: u32 = 8;
    const REACH: u32 = 200;
    let first = ramp();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for cameras in [2, 3] {
            // Only the first camera shows the whole ramp, because a panorama has at most 32,768 columns.
            let small = uvec2(1000, RAMP.y);
            let place = |camera: u32| match camera {
                0 => 0,
                _ => RAMP.x - OVERLAP + (camera - 1) * (small.x - OVERLAP),
            };
            let size = |camera: u32| if camera == 0 { RAMP } else { small };
            let camera = |camera: u32| {
                let shift = DVec2::new(place(camera).into(), 0.0);
                Camera::from_matrix(DMat3::from_translation(-shift), size(camera))
            };
            let width = place(cameras - 1) + small.x;
            let geometry = Geometry {
                canvas: Canvas::of_pixels(DVec2::ZERO, uvec2(width, RAMP.y)),
                cameras: (0..cameras).map(camera).collect(),
            };
            let mut pictures = vec![first.clone()];
            pictures.resize(cameras as usize, Picture::filled(1000, 4, Rgba16::opaque(9, 99, 999)));
            let blends = [
                Blend::Feather,
                Blend::Seam(SeamOptions::default()),
                Blend::Multiband(MultibandOptions::default()),
            ];
            for blend in blends {
                for lookup in [Lookup::Planes, Lookup::Cubic] {
                    let stitch = StitchOptions { lookup, ..StitchOptions::default() };
                    let options = PanoramaOptions { stitch, blend, ..PanoramaOptions::default() };
                    let found = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0;
                    for row in 0..RAMP.y {
                        let kept = (RAMP.x - OVERLAP - REACH) as usize;
                        let found = &found.picture.pixels()[(row * width) as usize..][..kept];
                        let exact = &first.pixels()[(row * RAMP.x) as usize..][..kept];
                        assert!(found == exact, "{device}, {cameras}, {blend:?}, {lookup:?}");
                    }
                }
            }
        }
    }
}

/// Feathered panoramas of two to six rotated cameras against a blend in f64.
#[test]
fn panoramas_are_within_one_step_of_f64() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut most = 0.0_f64;
        for seed in 0..6 {
            let (geometry, eight) = made_up(seed, noise);
            let deep: Vec<_> = eight.iter().map(Picture::to_depth::<Rgba16>).collect();
            let options = PanoramaOptions { stitch: by_planes(), ..PanoramaOptions::default() };
            let (found, _) = stitch_geometry(&stream, &deep, &geometry, &options).unwrap();
            let UVec2 { x: width, y: height } = geometry.canvas.size;
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let all = all_seen(&geometry, &eight, x, y);
                // At the edge of a picture, rounding decides whether it contributes.
                let at_edge = geometry.cameras.iter().any(|camera| {
                    let at = panoweave_tests::several::project(
                        &camera.from_ray,
                        DVec2::new(x.into(), y.into()),
                    );
                    let size = camera.size.as_dvec2();
                    at.abs().min((at - size).abs()).min_element() < 1e-3
                });
                if at_edge {
                    continue;
                }
                let pixel = found.picture.pixels()[(y * width + x) as usize];
                for (found, exact) in channels(pixel).into_iter().zip(blend(&all)) {
                    most = most.max((found - 257.0 * exact).abs());
                }
            }
        }
        println!("{device} against f64: {most:.4} 16-bit steps");
        // The planes contain coordinates in f32, with errors of 4e-6 pixels. Neighbouring pixels differ by up to
        // 65,535.
        assert!(most < 1.0, "{device}: {most} steps");
    }
}

/// Widened pictures give the panorama of the 8-bit pictures, with all options.
#[test]
fn widened_pictures_agree_with_eight_bits() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..8 {
            let (geometry, eight) = made_up(seed, noise);
            let deep: Vec<_> = eight.iter().map(Picture::to_depth::<Rgba16>).collect();
            let mut parts = Covers::NONE.parts;
            parts[1] = 0.4;
            let covers = Covers { colour: Vec3::new(0.9, 0.2, 0.5), parts };
            let colour = Colour { gain: Vec3::new(0.9, 1.3, 1.0), gamma: 0.9, ..Colour::IDENTITY };
            let stitch = StitchOptions {
                lookup: [Lookup::Planes, Lookup::Cubic][seed as usize / 2 % 2],
                colours: Colours::of([colour, Colour::IDENTITY]),
                flip: seed % 3 == 0,
                edge_boost: seed % 3 == 1,
                covers: if seed % 2 == 0 { covers } else { Covers::NONE },
                ..StitchOptions::default()
            };
            for blend in [Blend::Feather, Blend::Seam(SeamOptions::default())] {
                let options = PanoramaOptions { stitch, blend, ..PanoramaOptions::default() };
                let of_eight = stitch_geometry(&stream, &eight, &geometry, &options).unwrap().0;
                let of_deep = stitch_geometry(&stream, &deep, &geometry, &options).unwrap().0;
                let pixels = of_eight.picture.pixels().iter().zip(of_deep.picture.pixels());
                for (eight, deep) in pixels {
                    let Rgba8 { r, g, b, .. } = *eight;
                    let off = [r, g, b].map(|level| 257.0 * f64::from(level));
                    let off = off.into_iter().zip(channels(*deep));
                    let off = off.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(off < 0.51 * 257.0, "{device}, seed {seed}: {eight:?}, {deep:?}");
                }
            }
        }
    }
}

#[test]
fn masked_pixels_are_left_out() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let size = uvec2(40, 30);
        let camera =
            |x: f64| Camera::from_matrix(DMat3::from_translation(DVec2::new(-x, 0.0)), size);
        let geometry = Geometry {
            canvas: Canvas::of_pixels(DVec2::ZERO, uvec2(50, 30)),
            cameras: vec![camera(0.0), camera(10.0)],
        };
        let (left, right) = (Rgba16::opaque(1000, 2000, 3000), Rgba16::opaque(40_000, 0, 7));
        let mut pictures = [left, right].map(|colour| Picture::filled(40, 30, colour));
        // Less than half of the opacity masks a pixel. The left picture is masked from column 20 on.
        for (at, pixel) in pictures[0].pixels_mut().iter_mut().enumerate() {
            pixel.a = if at % 40 < 20 { 32_768 } else { 32_767 };
        }
        for blend in [Blend::Feather, Blend::Seam(SeamOptions::default())] {
            let options = PanoramaOptions { blend, ..PanoramaOptions::default() };
            let (found, _) = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
            for (at, pixel) in found.picture.pixels().iter().enumerate() {
                match at % 50 {
                    0..9 => assert_eq!(*pixel, left, "{device}, {blend:?}"),
                    20.. => assert_eq!(*pixel, right, "{device}, {blend:?}"),
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn wrong_sizes_and_colours_are_errors() {
    let stream = Device::simulator().stream().unwrap();
    let case = Case::random(3, 2);
    let pictures = pictures(&case, 1);
    let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
    let [left, right] = &pictures[..] else { panic!("two pictures") };
    let wrong = Picture::filled(left.width() + 1, left.height(), Rgba16::BLACK);
    let stitch = |pictures: &[&Picture<Rgba16>], options: &StitchOptions| {
        stitch_pictures(&stream, pictures, &warp, options).unwrap_err()
    };
    let error = stitch(&[&wrong, right], &case.options);
    assert!(error.to_string().contains("the picture of camera 1 is"), "{error}");
    let error = stitch(&[left], &case.options);
    assert!(error.to_string().contains("there are 2 cameras"), "{error}");
    let colours = Colours::of([Colour { gamma: 0.0, ..Colour::IDENTITY }]);
    let error = stitch(&[left, right], &StitchOptions { colours, ..case.options });
    assert!(error.to_string().contains("camera 1: gamma is 0"), "{error}");
    let images = pictures.iter().map(|picture| picture.upload(&stream).unwrap());
    let images: Vec<_> = images.collect();
    let size = warp.size() + 1;
    let mut out = Image::new(stream.device(), size.x, size.y).unwrap();
    let error = stitch_images(&stream, &images, &warp, &case.options, &mut out).unwrap_err();
    assert!(error.to_string().contains("the output is"), "{error}");
    let options = PanoramaOptions::default();
    let error = stitch_warp(&stream, &[&wrong, right], &warp, &options).unwrap_err();
    assert!(error.to_string().contains("make a warp for this size"), "{error}");
}
