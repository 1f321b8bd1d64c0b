//! Tests of SSIM and PSNR. They compare the results with the formulas in f64 and with results of scikit-image, and the
//! GPU with the CPU.

use glam::{UVec2, uvec2};
use panoweave::device::{Device, Image, Stream};
use panoweave::io::picture::Picture;
use panoweave::ops::ssim::{Compared, Comparer, Similarity, compare_pictures};
use panoweave_tests::random::Random;
use panoweave_tests::raster::upload_plane;
use panoweave_tests::{data, gpu, panoweave_devices};
use shared_types::Rgba8;
use shared_types::ssim::{MARGIN, TAPS, WINDOW};

/// Two planes of luma with `bits` bits per pixel.
struct Pair {
    size: UVec2,
    bits: u32,
    planes: [Vec<u16>; 2],
}

impl Pair {
    /// Returns two planes of a random size and bit depth. The first plane is smooth with some noise. The second plane
    /// equals the first, or differs from it slightly.
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let size = uvec2(11 + r.below(600) as u32, 11 + r.below(90) as u32);
        let bits = r.pick(&[8, 10, 12, 16]);
        let highest = ((1_u32 << bits) - 1) as f32;
        let (level, swing, noise) =
            (r.between(0.0, 1.0), r.between(0.0, 0.5), r.pick(&[0.0, 0.02, 0.5]));
        let difference = r.pick(&[0.0, 0.001, 0.02, 0.3]);
        let mut planes = [Vec::new(), Vec::new()];
        for i in 0..size.element_product() {
            let (x, y) = ((i % size.x) as f32, (i / size.x) as f32);
            let a =
                level + swing * (0.1 * x).sin() * (0.07 * y).cos() + noise * r.between(-1.0, 1.0);
            let b = a + difference * r.between(-1.0, 1.0);
            for (plane, value) in planes.iter_mut().zip([a, b]) {
                plane.push((value * highest).round().clamp(0.0, highest) as u16);
            }
        }
        Self { size, bits, planes }
    }

    fn level(&self, plane: usize, x: u32, y: u32) -> f64 {
        self.planes[plane][(y * self.size.x + x) as usize].into()
    }

    fn psnr(&self) -> f64 {
        let highest = f64::from((1_u32 << self.bits) - 1);
        let squares = self.planes[0].iter().zip(&self.planes[1]);
        let squares: f64 = squares.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
        10.0 * (highest.powi(2) * self.planes[0].len() as f64 / squares).log10()
    }

    /// Returns the SSIM of each window. Follows the definition directly: with two-dimensional Gaussian weights, and
    /// with variances computed from differences to the mean.
    fn map(&self) -> Vec<f64> {
        let gauss = |i: u32| (-(f64::from(i) - 5.0).powi(2) / (2.0 * 1.5 * 1.5)).exp();
        let total: f64 = (0..WINDOW).map(gauss).sum();
        let highest = f64::from((1_u32 << self.bits) - 1);
        let (c1, c2) = ((0.01 * highest).powi(2), (0.03 * highest).powi(2));
        let mut map = Vec::new();
        for y in 0..self.size.y - MARGIN {
            for x in 0..self.size.x - MARGIN {
                let mean = |of: &dyn Fn(u32, u32) -> f64| {
                    let window = (0..WINDOW * WINDOW).map(|i| {
                        let (dx, dy) = (i % WINDOW, i / WINDOW);
                        gauss(dx) * gauss(dy) * of(x + dx, y + dy)
                    });
                    window.sum::<f64>() / (total * total)
                };
                let means = [0, 1].map(|plane| mean(&|x, y| self.level(plane, x, y)));
                let off = |plane: usize, x, y| self.level(plane, x, y) - means[plane];
                let spread = |a, b| mean(&|x, y| off(a, x, y) * off(b, x, y));
                let [a, b] = means;
                map.push(
                    (2.0 * a * b + c1) * (2.0 * spread(0, 1) + c2)
                        / ((a * a + b * b + c1) * (spread(0, 0) + spread(1, 1) + c2)),
                );
            }
        }
        map
    }

    fn images(&self, stream: &Stream) -> [Image<u16>; 2] {
        [0, 1].map(|i| upload_plane(stream, self.size, &self.planes[i], 6))
    }

    fn compare(&self, stream: &Stream) -> (Similarity, Vec<f32>) {
        let mut comparer = Comparer::new(stream, self.size).unwrap();
        let inside = self.size - MARGIN;
        let mut map = Image::new(stream.device(), inside.x, inside.y).unwrap();
        if self.bits == 8 {
            let narrow = |plane: &Vec<u16>| plane.iter().map(|&v| v as u8).collect::<Vec<_>>();
            let [a, b] =
                [0, 1].map(|i| upload_plane(stream, self.size, &narrow(&self.planes[i]), 3));
            comparer.submit(stream, Compared::Luma8(a.view(), b.view()), Some(&mut map)).unwrap();
        } else {
            let [a, b] = self.images(stream);
            let pair = Compared::Luma16 { a: a.view(), b: b.view(), bits: self.bits };
            comparer.submit(stream, pair, Some(&mut map)).unwrap();
        }
        (comparer.result(stream).unwrap(), map.download(stream).unwrap())
    }
}

fn mean_of(map: &[f64]) -> f64 {
    map.iter().sum::<f64>() / map.len() as f64
}

fn close(found: f64, exact: f64, by: f64) -> bool {
    found == exact || (found - exact).abs() < by
}

#[test]
fn the_window_is_the_gaussian() {
    let gauss = |i: i32| (-f64::from(i - 5).powi(2) / (2.0 * 1.5 * 1.5)).exp();
    let total: f64 = (0..11).map(gauss).sum();
    for (i, tap) in TAPS.into_iter().enumerate() {
        assert!((f64::from(tap) - gauss(i as i32) / total).abs() < 1e-8, "{i}");
    }
}

#[test]
fn ssim_is_that_of_the_definition() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..24 {
            let pair = Pair::random(seed);
            let (found, map) = pair.compare(&stream);
            let exact = pair.map();
            let mean = mean_of(&exact);
            assert!(close(found.ssim, mean, 5e-6), "{device}, {seed}: {} is {mean}", found.ssim);
            assert!(close(found.psnr, pair.psnr(), 1e-9), "{device}, {seed}: {}", found.psnr);
            assert_eq!(found.psnr_rgb, None);
            let worst = map.iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).abs());
            let worst = worst.fold(0.0, f64::max);
            assert!(worst < 3e-5, "{device}, {seed}: {worst} in the map");
        }
    }
}

/// Checks the comparison of RGBA pictures: SSIM and PSNR must use luma, `psnr_rgb` must use the channels red, green and
/// blue, and alpha must not matter.
#[test]
fn colours_are_compared_by_luma_and_channel_by_channel() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..8 {
            let mut random = Random::new(seed);
            let r = &mut random;
            let size = uvec2(11 + r.below(300) as u32, 11 + r.below(60) as u32);
            let noise = r.pick(&[2, 30, 256]);
            let (mut colours, mut planes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
            let mut squares = 0.0;
            for _ in 0..size.element_product() {
                let a: [u8; 4] = std::array::from_fn(|_| r.below(256) as u8);
                let b = a.map(|level| level.saturating_add(r.below(noise) as u8));
                for ([r, g, b, a], (colours, plane)) in
                    [a, b].into_iter().zip(colours.iter_mut().zip(&mut planes))
                {
                    colours.push(Rgba8 { r, g, b, a });
                    let [r, g, b] = [r, g, b].map(u32::from);
                    plane.push(((19_595 * r + 38_470 * g + 7_471 * b + 32_768) >> 16) as u16);
                }
                let difference = |i: usize| f64::from(a[i]) - f64::from(b[i]);
                squares += (0..3).map(|i| difference(i).powi(2)).sum::<f64>();
            }
            let values = f64::from(3 * size.element_product());
            let psnr_rgb = 10.0 * (255.0_f64.powi(2) * values / squares).log10();
            let pair = Pair { size, bits: 8, planes };
            let mean = mean_of(&pair.map());
            let [a, b] = colours.map(|pixels| upload_plane(&stream, size, &pixels, 8));
            let mut comparer = Comparer::new(&stream, size).unwrap();
            comparer.submit(&stream, Compared::Rgba8(a.view(), b.view()), None).unwrap();
            let found = comparer.result(&stream).unwrap();
            assert!(close(found.ssim, mean, 5e-6), "{device}, {seed}: {} is {mean}", found.ssim);
            assert!(close(found.psnr, pair.psnr(), 1e-9), "{device}, {seed}: {}", found.psnr);
            let found = found.psnr_rgb.unwrap();
            assert!(close(found, psnr_rgb, 1e-9), "{device}, {seed}: {found} is {psnr_rgb}");
        }
    }
}

/// Checks that the SSIM of a picture and its negative is negative.
#[test]
fn what_is_the_opposite_is_negative() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..4 {
            let mut random = Random::new(seed);
            let size = uvec2(40 + 100 * seed as u32, 30);
            let a: Vec<u16> =
                (0..size.element_product()).map(|_| random.below(256) as u16).collect();
            let b = a.iter().map(|level| 255 - level).collect();
            let pair = Pair { size, bits: 8, planes: [a, b] };
            let (found, mean) = (pair.compare(&stream).0.ssim, mean_of(&pair.map()));
            assert!(mean < -0.5 && close(found, mean, 5e-6), "{device}: {found} is {mean}");
        }
    }
}

/// Checks that the results of GPU and CPU differ by at most 10⁻⁶. They differ because of a division, which is correctly
/// rounded on the CPU and approximate on the GPU.
#[test]
fn the_gpu_agrees() {
    let Some(gpu) = gpu() else { return };
    let streams = [gpu.stream().unwrap(), Device::simulator().stream().unwrap()];
    for seed in 0..24 {
        let pair = Pair::random(seed);
        let [on_gpu, on_cpu] = streams.each_ref().map(|stream| pair.compare(stream));
        assert!(
            close(on_gpu.0.ssim, on_cpu.0.ssim, 1e-7),
            "{seed}: {:?}, {:?}",
            on_gpu.0,
            on_cpu.0
        );
        assert_eq!(on_gpu.0.psnr, on_cpu.0.psnr, "{seed}");
        let off = on_gpu.1.iter().zip(&on_cpu.1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-6, "{seed}: {off} in the map");
    }
}

#[test]
fn numbers_are_those_of_scikit_image() {
    let Some(truth) = data("ssim/river1/truth.csv") else { return };
    let text = std::fs::read_to_string(truth).unwrap();
    let mut compared = 0;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let open =
            |name: &str| data(format!("ssim/river1/{name}.png")).map(|p| Picture::open(p).unwrap());
        let Some(reference) = open("ref") else { return };
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split(',').collect();
            let name = if words[1] == "identical" { "ref" } else { words[1] };
            let file = data("ssim/river1").unwrap().join(format!("{name}.png"));
            if !file.exists() {
                continue;
            }
            let distorted = Picture::open(file).unwrap();
            let (found, _) = compare_pictures(&stream, &reference, &distorted).unwrap();
            let number = |column: usize| words[column].parse::<f64>().unwrap();
            assert!(close(found.ssim, number(2), 5e-5), "{device}: {line}: {found:?}");
            assert!(close(found.psnr, number(7), 5e-6), "{device}: {line}: {found:?}");
            assert!(close(found.psnr_rgb.unwrap(), number(8), 5e-6), "{device}: {line}: {found:?}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

/// A comparer compares one pair after the other. The similarity of uniform pictures has a closed form.
#[test]
fn each_result_is_that_of_the_latest_pair() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let size = uvec2(64, 40);
        let flat = |level: u8| {
            let plane = vec![level; size.element_product() as usize];
            Image::from_slice(&stream, size.x, size.y, &plane).unwrap()
        };
        let (dark, mut comparer) = (flat(10), Comparer::new(&stream, size).unwrap());
        for level in [40, 90, 200, 10] {
            let other = flat(level);
            comparer.submit(&stream, Compared::Luma8(dark.view(), other.view()), None).unwrap();
            let (found, level) = (comparer.result(&stream).unwrap(), f64::from(level));
            let c1 = (0.01_f64 * 255.0).powi(2);
            let exact = (2.0 * 10.0 * level + c1) / (100.0 + level * level + c1);
            assert!(close(found.ssim, exact, 1e-5), "{device}: {found:?}");
            let psnr = 20.0 * (255.0 / (level - 10.0)).log10();
            assert!(close(found.psnr, psnr, 1e-9), "{device}: {found:?}");
        }
    }
}

#[test]
fn what_cannot_be_compared() {
    let device = Device::simulator();
    let stream = device.stream().unwrap();
    for size in [uvec2(10, 40), uvec2(0, 0)] {
        let error = Comparer::new(&stream, size).unwrap_err().to_string();
        assert!(error.contains("they must be at least 11×11"), "{error}");
    }
    let mut comparer = Comparer::new(&stream, uvec2(40, 40)).unwrap();
    let small: Image<u16> = Image::new(&device, 40, 39).unwrap();
    let right: Image<u16> = Image::new(&device, 40, 40).unwrap();
    let mut map: Image<f32> = Image::new(&device, 40, 40).unwrap();
    let (r, s) = (|| right.view(), || small.view());
    for (a, b, bits, map, said) in [
        (s(), r(), 10, None, "the first picture is 40×39"),
        (r(), s(), 10, None, "the second picture is 40×39"),
        (r(), r(), 8, None, "has 8 bits;"),
        (r(), r(), 17, None, "has 17 bits;"),
        (r(), r(), 16, Some(&mut map), "the map is 40×40 pixels; it must be 30×30"),
    ] {
        let error = comparer.submit(&stream, Compared::Luma16 { a, b, bits }, map).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    let pictures = [12, 13].map(|side| Picture::filled(side, 12, Rgba8::BLACK));
    let error = compare_pictures(&stream, &pictures[0], &pictures[1]).unwrap_err();
    assert!(error.to_string().contains("the second picture is 13×12"), "{error}");
}
