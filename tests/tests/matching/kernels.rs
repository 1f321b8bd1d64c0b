//! Kernels against naive searches, and the GPU against the CPU to the bit.

use glam::vec2;
use kernels_gpu::matching::{FindNearest, FindPeaks, Shrink};
use panoweave::device::{Buffer, Image, LaunchConfig};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::matching::{BLOCK, BLOCK_THREADS, CELL, Descriptor, KEPT, Nearest, Peak};

fn line(count: u32) -> LaunchConfig {
    LaunchConfig::cover(count, 1, [BLOCK_THREADS, 1])
}

#[test]
fn the_nearest_are_those_of_a_naive_search() {
    let mut random = Random::new(1);
    // Few values, so that products are often equal.
    let mut some = |count: usize| -> Vec<Descriptor> {
        (0..count)
            .map(|_| Descriptor([0; Descriptor::WORDS].map(|_| random.below(3) as u32 * 0x1_00_01)))
            .collect()
    };
    for (these, others) in [(some(300), some(170)), (some(1), some(2)), (some(33), some(5))] {
        let product = |a: &Descriptor, b: &Descriptor| -> u32 {
            let bytes = |d: &Descriptor| d.0.map(u32::to_le_bytes).concat();
            bytes(a).iter().zip(bytes(b)).map(|(a, b)| u32::from(*a) * u32::from(b)).sum()
        };
        let naive = |this: &Descriptor| {
            let mut all: Vec<_> =
                others.iter().map(|other| product(this, other)).zip(0..).collect();
            all.sort_by_key(|&(product, index)| (std::cmp::Reverse(product), index));
            let mut nearest = Nearest::default();
            let found = all.into_iter().filter(|(product, _)| *product > 0).take(KEPT);
            for (i, (product, index)) in found.enumerate() {
                (nearest.product[i], nearest.index[i]) = (product, index);
            }
            nearest
        };
        let expected: Vec<_> = these.iter().map(naive).collect();
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let [a, b] = [&these, &others].map(|d| Buffer::from_slice(&stream, d).unwrap());
            let mut out = Buffer::new(&device, a.len()).unwrap();
            let kernel = FindNearest { these: a.view(), others: b.view(), out: out.view_mut() };
            stream.launch(&line(a.len()), &kernel).unwrap();
            assert_eq!(out.download(&stream).unwrap(), expected, "{device}");
        }
    }
}

#[test]
fn peaks_are_the_largest_of_their_cells_that_top_their_neighbours() {
    let mut random = Random::new(2);
    for (width, height, border) in
        [(50_u32, 37_u32, 3_u32), (8, 8, 1), (9, 70, 0), (3, 3, 1), (1, 1, 8)]
    {
        let values: Vec<f32> = (0..width * height).map(|_| random.below(40) as f32).collect();
        let at = |x: u32, y: u32| values[(y * width + x) as usize];
        let cells = [width.div_ceil(CELL), height.div_ceil(CELL)];
        let least = border.max(1);
        let mut expected = vec![Peak::default(); (cells[0] * cells[1]) as usize];
        for y in least..height.saturating_sub(least) {
            for x in least..width.saturating_sub(least) {
                let neighbours = (0..9).filter(|&i| i != 4).map(|i| (x + i % 3 - 1, y + i / 3 - 1));
                let tops = neighbours.into_iter().all(|(nx, ny)| {
                    let before = (ny, nx) < (y, x);
                    at(x, y) > at(nx, ny) || before && at(x, y) == at(nx, ny)
                });
                let best = &mut expected[(y / CELL * cells[0] + x / CELL) as usize];
                if tops && at(x, y) > best.value {
                    let top = |low: f32, high: f32| {
                        let bend = f64::from(2.0 * at(x, y) - low - high);
                        if bend > 0.0 { 0.5 * f64::from(high - low) / bend } else { 0.0 }
                    };
                    let offset = [top(at(x - 1, y), at(x + 1, y)), top(at(x, y - 1), at(x, y + 1))];
                    let place = vec2(x as f32 + offset[0] as f32, y as f32 + offset[1] as f32);
                    *best = Peak { at: place, value: at(x, y) };
                }
            }
        }
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let image = Image::from_slice(&stream, width, height, &values).unwrap();
            let mut peaks = Buffer::new(&device, expected.len() as u32).unwrap();
            let kernel = FindPeaks { values: image.view(), border, peaks: peaks.view_mut() };
            stream.launch(&line(expected.len() as u32), &kernel).unwrap();
            for (found, expected) in peaks.download(&stream).unwrap().iter().zip(&expected) {
                assert_eq!(found.value, expected.value, "{device}");
                assert!(found.at.distance(expected.at) < 1e-4, "{device}: {found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn shrinking_is_bilinear() {
    let mut random = Random::new(3);
    for (from, to) in [([40_u32, 30_u32], [28_u32, 21_u32]), ([5, 7], [5, 7]), ([9, 1], [4, 1])] {
        let values: Vec<f32> = (0..from[0] * from[1]).map(|_| random.between(0.0, 255.0)).collect();
        let exact = |x: u32, y: u32| {
            let along = |at: u32, axis: usize| {
                let place =
                    (f64::from(at) + 0.5) * f64::from(from[axis]) / f64::from(to[axis]) - 0.5;
                let place = place.clamp(0.0, f64::from(from[axis] - 1));
                (
                    place.floor() as u32,
                    (place.floor() as u32 + 1).min(from[axis] - 1),
                    place.fract(),
                )
            };
            let ((x0, x1, a), (y0, y1, b)) = (along(x, 0), along(y, 1));
            let at = |x: u32, y: u32| f64::from(values[(y * from[0] + x) as usize]);
            let row = |y: u32| at(x0, y) * (1.0 - a) + at(x1, y) * a;
            row(y0) * (1.0 - b) + row(y1) * b
        };
        let mut first: Option<Vec<f32>> = None;
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let input = Image::from_slice(&stream, from[0], from[1], &values).unwrap();
            let mut out = Image::new(&device, to[0], to[1]).unwrap();
            let config = LaunchConfig::cover(to[0], to[1], BLOCK);
            let kernel = Shrink { input: input.view(), out: out.view_mut() };
            stream.launch(&config, &kernel).unwrap();
            let found = out.download(&stream).unwrap();
            for (i, found) in found.iter().enumerate() {
                let exact = exact(i as u32 % to[0], i as u32 / to[0]);
                assert!((f64::from(*found) - exact).abs() < 2e-3, "{device}: {found} {exact}");
            }
            match &first {
                None => first = Some(found),
                Some(cpu) => assert_eq!(*cpu, found, "{device} and the CPU differ"),
            }
        }
    }
}
