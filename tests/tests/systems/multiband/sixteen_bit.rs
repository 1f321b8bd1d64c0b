//! Multiband blending of pictures with 16 bits per channel against the definition in f64, and GPU against CPU.

use glam::UVec2;
use panoweave::device::{Device, Image, Stream};
use panoweave::io::picture::{Picture, Rgba16};
use panoweave::ops::multiband::Multiband;
use panoweave::ops::stitch::stitch_images;
use panoweave::warp::DeviceWarp;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Pixels;
use panoweave_tests::{gpu, oracle, panoweave_devices};

use super::{RGBA, Scene, is_moderate};

/// Returns the pictures of a scene, to which noise of less than an 8-bit level is added.
fn deep(scene: &Scene, seed: u64) -> Vec<Picture<Rgba16>> {
    let mut random = Random::new(seed);
    let mut pictures = Vec::new();
    for source in &scene.sources {
        let Pixels::Rgba8(pixels) = &source.pixels else { panic!("an RGBA picture") };
        let mut wide =
            |level: u8| (257 * u32::from(level) + random.below(257) as u32).min(65_535) as u16;
        let pixels = pixels.iter().map(|p| Rgba16::opaque(wide(p.r), wide(p.g), wide(p.b)));
        pictures
            .push(Picture::from_pixels(source.size.x, source.size.y, pixels.collect()).unwrap());
    }
    pictures
}

fn run(stream: &Stream, scene: &Scene, pictures: &[Picture<Rgba16>], levels: u32) -> Vec<Rgba16> {
    let images: Vec<_> = pictures.iter().map(|picture| picture.upload(stream).unwrap()).collect();
    let warps = [&scene.warp, &scene.weighted].map(|w| DeviceWarp::upload(stream, w).unwrap());
    let UVec2 { x, y } = scene.output.size;
    let mut out = Image::new(stream.device(), x, y).unwrap();
    stitch_images(stream, &images, &warps[1], &scene.options, &mut out).unwrap();
    let mut multiband = Multiband::new(stream, &warps[0], levels).unwrap().unwrap();
    multiband.submit_images(stream, &images, &warps[1], &scene.options, &mut out).unwrap();
    out.download(stream).unwrap()
}

fn channels(Rgba16 { r, g, b, .. }: Rgba16) -> [f64; 3] {
    [r, g, b].map(f64::from)
}

/// Two, three and five cameras, levels from 1 to 6, with flip and edge boost.
#[test]
fn panoramas_with_sixteen_bits_follow_the_definition() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut most, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
        for seed in 0..8 {
            let cameras = [2, 2, 3, 5][seed as usize / 2];
            let scene = Scene::random(seed, cameras, [RGBA, RGBA]);
            let pictures = deep(&scene, seed);
            let levels = 1 + (seed * 5 % 6) as u32;
            let exact = scene.exact_of(levels, |camera, u, v| {
                let [width, height] = scene.sources[camera].size.to_array().map(|s| s as usize);
                let pixels = pictures[camera].pixels();
                oracle::mix(width, height, u, v, |at| channels(pixels[at]).map(|c| c / 257.0))
            });
            let found = run(&stream, &scene, &pictures, levels);
            for (pixel, exact) in found.iter().zip(&exact) {
                match exact {
                    None => assert_eq!(*pixel, Rgba16::BLACK),
                    Some(level) if is_moderate(exact) => {
                        for (found, exact) in channels(*pixel).into_iter().zip(level) {
                            let off = (found - 257.0 * exact).abs();
                            most = most.max(off);
                            (sum, count) = (sum + off, count + 1.0);
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        let mean = sum / count;
        println!("{device} against f64: at most {most:.2}, mean {mean:.2} 16-bit steps");
        // Differences are in half precision. Those of these pictures are at most a third of white.
        assert!(most < 20.0 && mean < 1.0, "{device}: at most {most}, mean {mean}");
    }
}

#[test]
fn the_gpu_agrees_with_the_cpu_on_sixteen_bits() {
    let Some(gpu) = gpu() else { return };
    let streams = [Device::simulator(), gpu].map(|device| device.stream().unwrap());
    for seed in 0..4 {
        let scene = Scene::random(seed, 3, [RGBA, RGBA]);
        let pictures = deep(&scene, seed);
        let [on_cpu, on_gpu] = streams.each_ref().map(|s| run(s, &scene, &pictures, 4));
        for (cpu, gpu) in on_cpu.into_iter().zip(on_gpu) {
            for (cpu, gpu) in channels(cpu).into_iter().zip(channels(gpu)) {
                assert!((cpu - gpu).abs() <= 26.0, "seed {seed}: {cpu} and {gpu}");
            }
        }
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let stream = Device::simulator().stream().unwrap();
    let scene = Scene::random(1, 2, [RGBA, RGBA]);
    let pictures = deep(&scene, 1);
    let images: Vec<_> = pictures.iter().map(|picture| picture.upload(&stream).unwrap()).collect();
    let warp = DeviceWarp::upload(&stream, &scene.warp).unwrap();
    let mut multiband = Multiband::new(&stream, &warp, 2).unwrap().unwrap();
    let mut submit = |images: &[Image<Rgba16>], size: UVec2| {
        let mut out = Image::new(stream.device(), size.x, size.y).unwrap();
        multiband.submit_images(&stream, images, &warp, &scene.options, &mut out)
    };
    let size = scene.output.size;
    submit(&images, size).unwrap();
    let error = submit(&images[..1], size).unwrap_err();
    assert!(error.to_string().contains("1 frames or colours were passed"), "{error}");
    let error = submit(&images, size + 1).unwrap_err();
    assert!(error.to_string().contains("the output is"), "{error}");
}
