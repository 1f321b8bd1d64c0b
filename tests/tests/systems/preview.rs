//! Compares previews with means of the panorama in f64. They run on the CPU, and on a GPU if there is one.

use glam::{UVec2, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::ops::preview::preview;
use panoweave_tests::oracle::{self, bilinear};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};

fn scaled(stream: &Stream, panorama: &Raster, size: UVec2, pixels: PixelFormat) -> Raster {
    let from = panorama.upload(stream, 0);
    let mut out = DeviceFrame::new(stream.device(), FrameFormat { size, pixels }).unwrap();
    preview(stream, from.view(), &mut out).unwrap();
    Raster::download(stream, &out)
}

/// Returns the mean of bilinear samples of a panorama that are at most two pixels apart, for each pixel of a preview.
fn means(panorama: &Raster, size: UVec2) -> Vec<Option<[f64; 3]>> {
    let (from, to) = (panorama.size.as_dvec2(), size.as_dvec2());
    let scale = from / to;
    let counts = (scale / 2.0).ceil();
    let mean = |at: u32| {
        let (x, y) = (f64::from(at % size.x), f64::from(at / size.x));
        let mut sum = [0.0; 3];
        for sample in 0..(counts.x * counts.y) as u32 {
            let (i, j) = (f64::from(sample % counts.x as u32), f64::from(sample / counts.x as u32));
            let u = (x + (i + 0.5) / counts.x) * scale.x - 0.5;
            let v = (y + (j + 0.5) / counts.y) * scale.y - 0.5;
            let levels = bilinear(panorama, u.clamp(0.0, from.x - 1.0), v.clamp(0.0, from.y - 1.0));
            (0..3).for_each(|c| sum[c] += levels[c] / (counts.x * counts.y));
        }
        Some(sum)
    };
    (0..size.element_product()).map(mean).collect()
}

#[test]
fn a_preview_pixel_is_the_mean_of_the_pixels_that_it_covers() {
    let formats = [PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default())];
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut sides = |most| uvec2(random.below(most) as u32 + 1, random.below(most) as u32 + 1);
        let (from, to) = (sides(300), sides(60));
        let panorama = Raster::noise(&mut random, from, formats[seed as usize % 2]);
        let pixels = formats[seed as usize / 2 % 2];
        let mut expected = means(&panorama, to);
        // Noise in NV12 has colours that cannot be displayed.
        let levels = expected.iter_mut().flatten().flatten();
        levels.for_each(|level| *level = level.clamp(0.0, 255.0));
        for device in panoweave_devices() {
            let found = scaled(&device.stream().unwrap(), &panorama, to, pixels);
            let off = oracle::worst_where(&found, &expected, &vec![true; expected.len()]);
            assert!(off <= 0.56, "seed {seed}: {off} levels, {from} to {to} on {device}");
        }
    }
}

/// For even factors, the mean is exact. 10 bits have four times the levels of 8 bits.
#[test]
fn even_factors_are_exact_and_ten_bits_agree() {
    let mut random = Random::new(7);
    let rgba = Raster::noise(&mut random, uvec2(96, 64), PixelFormat::Rgba8);
    let nv12 = Raster::noise(&mut random, uvec2(90, 70), PixelFormat::Nv12(YuvEncoding::default()));
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let found = scaled(&stream, &rgba, uvec2(12, 16), PixelFormat::Rgba8);
        let (Pixels::Rgba8(from), Pixels::Rgba8(to)) = (&rgba.pixels, &found.pixels) else {
            panic!()
        };
        for (at, pixel) in (0_usize..).zip(to) {
            let (x, y) = (at % 12 * 8, at / 12 * 4);
            let covered = (0..32).map(|i| from[(y + i / 8) * 96 + x + i % 8]);
            let sum: u32 = covered.map(|pixel| u32::from(pixel.g)).sum();
            let off = (f64::from(sum) / 32.0 - f64::from(pixel.g)).abs();
            assert!(off <= 0.501, "{off} at {at} on {device}");
        }
        let deep = nv12.to_p010();
        let format = deep.format().pixels;
        let found = scaled(&stream, &deep, uvec2(31, 23), format).ten_bits();
        let Pixels::Nv12 { y, uv, .. } =
            scaled(&stream, &nv12, uvec2(31, 23), nv12.format().pixels).pixels
        else {
            panic!()
        };
        let shallow = y.iter().copied().chain(uv.iter().flat_map(|chroma| [chroma.u, chroma.v]));
        assert_eq!(found.len(), 31 * 23 + 16 * 12 * 2);
        for (deep, shallow) in found.iter().zip(shallow) {
            let off = i32::from(*deep) - 4 * i32::from(shallow);
            assert!(off.abs() <= 3, "{off} on {device}");
        }
    }
    let stream = panoweave::device::Device::cpu().stream().unwrap();
    let deep = nv12.to_p010().upload(&stream, 0);
    let mut out = DeviceFrame::new(stream.device(), FrameFormat::rgba8(8, 8)).unwrap();
    let refused = preview(&stream, deep.view(), &mut out).unwrap_err().to_string();
    assert!(refused.contains("P010"), "{refused}");
}
