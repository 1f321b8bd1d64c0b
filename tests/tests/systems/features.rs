//! Tests of feature detection. They compare the features with those of the KLT library, the eigenvalues with their
//! formula in f64, the selection of features with a simple implementation, and the GPU with the CPU bit by bit.

use glam::{UVec2, uvec2};
use panoweave::device::{Device, Image, Stream};
use panoweave::ops::features::{Detector, Feature, FeatureOptions, good_features, select};
use panoweave_tests::random::Random;
use panoweave_tests::raster::upload_plane;
use panoweave_tests::{data, panoweave_devices};
use proptest::prelude::*;
use shared_types::Rgba8;

use crate::malformed::assert_says;

/// A greyscale picture.
struct Grey {
    size: UVec2,
    levels: Vec<u8>,
}

impl Grey {
    /// Reads a binary PGM. If the file is missing, reports a skip and returns `None`.
    fn open(name: &str) -> Option<Self> {
        let bytes = std::fs::read(data(name)?).unwrap();
        // The header is "P5", width, height and largest level. Lines that begin with # are comments.
        let header = String::from_utf8_lossy(&bytes[..100]);
        let lines = header.lines().filter(|line| !line.starts_with('#'));
        let words: Vec<_> = lines.flat_map(str::split_whitespace).take(4).collect();
        let ["P5", width, height, "255"] = words[..] else { panic!("{words:?}") };
        let size = uvec2(width.parse().unwrap(), height.parse().unwrap());
        let levels = bytes[bytes.len() - size.element_product() as usize..].to_vec();
        Some(Self { size, levels })
    }

    fn upload(&self, stream: &Stream) -> Image<Rgba8> {
        let pixels: Vec<_> = self.levels.iter().map(|&v| Rgba8::opaque(v, v, v)).collect();
        upload_plane(stream, self.size, &pixels, 12)
    }

    fn detect(&self, stream: &Stream, options: &FeatureOptions) -> Detector {
        let mut detector = Detector::new(stream, self.size, options).unwrap();
        detector.submit(stream, self.upload(stream).view()).unwrap();
        detector
    }
}

fn golden(name: &str) -> Option<Vec<f32>> {
    let bytes = std::fs::read(data(format!("klt/golden/{name}"))?).unwrap();
    Some(bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect())
}

/// Returns the column, row and truncated eigenvalue of each feature that the KLT library found.
fn golden_features(name: &str) -> Option<Vec<(u32, u32, u32)>> {
    let text = std::fs::read_to_string(data(format!("klt/golden/{name}"))?).unwrap();
    let line = |line: &str| {
        let numbers: Vec<u32> = line.split(',').map(|word| word.parse().unwrap()).collect();
        (numbers[1], numbers[2], numbers[3])
    };
    Some(text.lines().skip(1).map(line).collect())
}

/// Checks that every value differs from the KLT library's value (`golden`) by at most 10⁻³ of the library's value, or
/// by at most the result of `floor` for its index.
fn assert_near(what: &str, found: &[f32], golden: &[f32], floor: impl Fn(usize) -> f32) {
    assert_eq!(found.len(), golden.len());
    let far = |&at: &usize| (found[at] - golden[at]).abs() > floor(at).max(1e-3 * golden[at].abs());
    let wrong: Vec<_> = (0..found.len()).filter(far).collect();
    let some: Vec<_> = wrong.iter().take(5).map(|&at| (at, found[at], golden[at])).collect();
    assert!(wrong.is_empty(), "{what}: {} differ: {some:?}", wrong.len());
}

#[test]
fn the_librarys_pictures_gradients_and_eigenvalues() {
    let Some(grey) = Grey::open("klt/img/img0.pgm") else { return };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let detector = grey.detect(&stream, &FeatureOptions::default());
        let download = |image: &Image<f32>| image.download(&stream).unwrap();
        let levels: Vec<_> = grey.levels.iter().copied().map(f32::from).collect();
        assert_eq!(download(detector.luma()), levels, "luma of grey is the level");
        let smoothed = download(detector.smoothed().unwrap());
        let [x, y] = detector.gradients().map(download);
        // The KLT library computes no eigenvalues within 24 pixels of the edge.
        let (width, border) = (grey.size.x as usize, 24);
        let between = |at: usize, side: u32| (border..side as usize - border).contains(&at);
        let within =
            |at: usize| between(at % width, grey.size.x) && between(at / width, grey.size.y);
        let mut eigenvalues = download(detector.eigenvalues());
        for (_, value) in eigenvalues.iter_mut().enumerate().filter(|&(at, _)| !within(at)) {
            *value = 0.0;
        }
        for (what, found, name) in [
            ("smoothed", &smoothed, "img0_smooth.f32"),
            ("gradient along x", &x, "img0_gradx.f32"),
            ("gradient along y", &y, "img0_grady.f32"),
        ] {
            // These values are sums of taps times levels of up to 255. The bound allows for ten rounding errors of
            // 2⁻²⁴.
            let floor = |_| 255.0 * 10.0 * 2.0_f32.powi(-24);
            assert_near(&format!("{what} on {device}"), found, &golden(name).unwrap(), floor);
        }
        // The smaller eigenvalue is the difference of two numbers that are about as large as `sum`, so its rounding
        // error is proportional to `sum`.
        let floor = |at: usize| {
            let row = |y: usize| at + y * width - 3 * width;
            let window = (0..7).flat_map(|y| (row(y) - 3)..=(row(y) + 3));
            let sum: f32 = window.map(|at| x[at].mul_add(x[at], y[at] * y[at])).sum();
            // Where the picture is uniform, the gradients consist only of rounding errors, so allow 1e-3 there, too.
            sum * 2.0_f32.powi(-22) + 1e-3
        };
        let floor = |at| if within(at) { floor(at) } else { 0.0 };
        let golden = golden("img0_mineig.f32").unwrap();
        assert_near(&format!("eigenvalue on {device}"), &eigenvalues, &golden, floor);
    }
}

/// Checks that `found` are the features of the KLT library (`golden`), except for ties. In a tie, two features less
/// than `min_distance` apart have the same eigenvalue, rounded down, and each implementation may select another one.
fn assert_same_features(found: &[Feature], golden: &[(u32, u32, u32)], min_distance: u32) {
    assert_eq!(found.len(), golden.len());
    assert!(found.is_sorted_by(|a, b| a.value >= b.value));
    let found: Vec<_> = found.iter().map(|f| (f.x, f.y, f.value as u32)).collect();
    let lacks = |list: &[(u32, u32, u32)], of: &[(u32, u32, u32)]| -> Vec<_> {
        of.iter().copied().filter(|feature| !list.contains(feature)).collect()
    };
    let (ours, theirs) = (lacks(golden, &found), lacks(&found, golden));
    for (x, y, value) in &ours {
        let tied = |(gx, gy, other): &&(u32, u32, u32)| {
            value == other && x.abs_diff(*gx).max(y.abs_diff(*gy)) < min_distance
        };
        assert!(theirs.iter().any(|golden| tied(&golden)), "{ours:?} instead of {theirs:?}");
    }
    // Ties are rare: at most two of the 600 features in the test pictures.
    assert!(ours.len() <= 2, "{ours:?} instead of {theirs:?}");
}

#[test]
fn the_librarys_features() {
    for (picture, features, count) in [
        ("img0.pgm", "img0_features100.csv", 100),
        ("river1_gray.pgm", "river1_features500.csv", 500),
    ] {
        let Some(grey) = Grey::open(&format!("klt/img/{picture}")) else { return };
        let golden = golden_features(features).unwrap();
        let options = FeatureOptions { count, ..FeatureOptions::default() };
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let image = grey.upload(&stream);
            let found = good_features(&stream, image.view(), &options).unwrap();
            assert_same_features(&found, &golden, options.min_distance);
        }
    }
}

/// Returns the smaller eigenvalue in f64, computed by its formula, and the allowed rounding error of a result in f32.
fn exact_eigenvalue(gradients: [&[f32]; 2], size: UVec2, window: u32, at: UVec2) -> (f64, f64) {
    let r = window / 2;
    if at.x < r || at.y < r || at.x + r >= size.x || at.y + r >= size.y {
        return (0.0, 0.0);
    }
    let [mut xx, mut xy, mut yy] = [0.0_f64; 3];
    for y in at.y - r..=at.y + r {
        for x in at.x - r..=at.x + r {
            let [gx, gy] = gradients.map(|plane| f64::from(plane[(y * size.x + x) as usize]));
            (xx, xy, yy) = (xx + gx * gx, xy + gx * gy, yy + gy * gy);
        }
    }
    // The smaller eigenvalue is half the trace minus half the difference between both eigenvalues.
    let value = (xx + yy) / 2.0 - ((xx - yy).powi(2) / 4.0 + xy * xy).sqrt();
    // The allowed error covers the roundings of up to 2·window additions in each sum, and of a few later operations.
    (value, (xx + yy) * f64::from(2 * window + 8) * 2.0_f64.powi(-24))
}

#[test]
fn eigenvalues_are_the_formula() {
    let mut random = Random::new(1);
    for window in [3, 5, 7, 9, 15, 31] {
        for size in [uvec2(1, 1), uvec2(6, 40), uvec2(31, 31), uvec2(64, 32), uvec2(150, 77)] {
            let grey = Grey { size, levels: random_levels(&mut random, size) };
            let options = FeatureOptions { window, ..FeatureOptions::default() };
            let mut first: Option<Vec<f32>> = None;
            for device in panoweave_devices() {
                let stream = device.stream().unwrap();
                let detector = grey.detect(&stream, &options);
                let [x, y] = detector.gradients().map(|image| image.download(&stream).unwrap());
                let found = detector.eigenvalues().download(&stream).unwrap();
                for (i, &value) in found.iter().enumerate() {
                    let at = uvec2(i as u32 % size.x, i as u32 / size.x);
                    let (exact, allowed) = exact_eigenvalue([&x, &y], size, window, at);
                    assert!(
                        (f64::from(value) - exact).abs() <= allowed,
                        "{value}, not {exact} at {at} of {size}, window {window} on {device}"
                    );
                }
                assert!(*first.get_or_insert_with(|| found.clone()) == found, "{size} on {device}");
            }
        }
    }
}

fn random_levels(random: &mut Random, size: UVec2) -> Vec<u8> {
    // The picture consists of patches of 9×11 pixels, so that it has corners.
    let cells: Vec<u8> = (0..64).map(|_| random.bits() as u8).collect();
    (0..size.element_product())
        .map(|i| {
            cells[((i % size.x / 9) % 8 + (i / size.x / 11) % 8 * 8) as usize]
                ^ (random.bits() & 7) as u8
        })
        .collect()
}

#[test]
fn luma_is_that_of_bt709() {
    let mut random = Random::new(2);
    let size = uvec2(70, 33);
    let pixels: Vec<_> = (0..size.element_product())
        .map(|_| {
            let [r, g, b, a, ..] = random.bits().to_le_bytes();
            Rgba8 { r, g, b, a }
        })
        .collect();
    let mut first: Option<Vec<f32>> = None;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let image = upload_plane(&stream, size, &pixels, 0);
        let mut detector = Detector::new(&stream, size, &FeatureOptions::default()).unwrap();
        detector.submit(&stream, image.view()).unwrap();
        let luma = detector.luma().download(&stream).unwrap();
        for (pixel, &luma) in pixels.iter().zip(&luma) {
            let [r, g, b] = [pixel.r, pixel.g, pixel.b].map(f64::from);
            let exact = 0.299 * r + 0.587 * g + 0.114 * b;
            assert!((f64::from(luma) - exact).abs() < 1e-4, "{luma}, not {exact} on {device}");
        }
        assert!(*first.get_or_insert_with(|| luma.clone()) == luma, "on {device}");
    }
}

/// The gradients near the edge of a picture must not count as features, whatever the border.
#[test]
fn the_edge_of_a_flat_picture_is_no_feature() {
    let size = uvec2(160, 140);
    let grey = Grey { size, levels: vec![200; size.element_product() as usize] };
    let stream = Device::cpu().stream().unwrap();
    for (window, gradient_sigma) in [(3, 0.5), (7, 1.0), (7, 3.0), (31, 1.0)] {
        for smooth in [false, true] {
            let options = FeatureOptions {
                window,
                gradient_sigma,
                smooth,
                border: 0,
                ..FeatureOptions::default()
            };
            let found = good_features(&stream, grey.upload(&stream).view(), &options).unwrap();
            assert_eq!(found, [], "{options:?}");
        }
    }
}

/// Selects the same features as [`select`], but with the simplest algorithm: sorts all candidates, and compares each
/// candidate with all features selected so far.
fn plain_choice(values: &[f32], size: UVec2, options: &FeatureOptions) -> Vec<Feature> {
    let border = options.border.max(options.window / 2);
    let mut candidates: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(i, &value)| Feature { x: i as u32 % size.x, y: i as u32 / size.x, value })
        .filter(|f| {
            f.x >= border && f.y >= border && f.x + border < size.x && f.y + border < size.y
        })
        .filter(|f| f.value >= options.min_eigenvalue && f.value >= 1.0)
        .collect();
    // `sort_by` is stable, so candidates with equal values stay in the order of the rows.
    candidates.sort_by(|a, b| b.value.total_cmp(&a.value));
    let mut chosen: Vec<Feature> = Vec::new();
    for f in candidates {
        let apart = |g: &Feature| f.x.abs_diff(g.x).max(f.y.abs_diff(g.y)) >= options.min_distance;
        if chosen.len() < options.count && chosen.iter().all(apart) {
            chosen.push(f);
        }
    }
    chosen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_choice_is_the_plain_one(
        seed: u64,
        width in 1_u32..60,
        height in 1_u32..60,
        count in 0_usize..40,
        min_distance in 0_u32..20,
        border in 0_u32..12,
        least in 0_u32..40,
        levels in 1_usize..1000,
    ) {
        let mut random = Random::new(seed);
        let size = uvec2(width, height);
        // Use few different values, so that many candidates have equal values.
        let values: Vec<_> = (0..size.element_product())
            .map(|_| match random.below(50) {
                0 => f32::NAN,
                1 => -5.0,
                2 => f32::INFINITY,
                _ => random.below(levels) as f32 * 0.5,
            })
            .collect();
        let min_eigenvalue = least as f32 * 0.25;
        let options = FeatureOptions {
            count, min_distance, border, min_eigenvalue, window: 3, ..FeatureOptions::default()
        };
        prop_assert_eq!(select(&values, size, &options), plain_choice(&values, size, &options));
    }
}

/// The choice needs no memory and no time for pixels without a value.
#[test]
fn the_choice_ends_with_the_values() {
    let options = FeatureOptions { border: 0, window: 1, ..FeatureOptions::default() };
    let wide = FeatureOptions { border: u32::MAX, min_distance: u32::MAX, ..options.clone() };
    let sizes = [UVec2::MAX, uvec2(u32::MAX, 40), uvec2(40, u32::MAX), uvec2(0, 9), uvec2(9, 0)];
    for size in sizes {
        assert_eq!(select(&[], size, &options), []);
        assert_eq!(select(&[1e3; 50], size, &wide), []);
        let spread = FeatureOptions { min_distance: u32::MAX, ..options.clone() };
        let found = select(&[5.0, 7.0, 6.0], size, &spread);
        let first = Feature { x: 1, y: 0, value: 7.0 };
        assert_eq!(found, if size.min_element() == 0 { vec![] } else { vec![first] });
    }
    // The second row ends after one value.
    let close = FeatureOptions { min_distance: 1, ..options };
    let found = select(&[1.0, 2.0, 3.0, 4.0], uvec2(3, 2), &close);
    assert_eq!(
        found.iter().map(|f| (f.x, f.y)).collect::<Vec<_>>(),
        [(0, 1), (2, 0), (1, 0), (0, 0)]
    );
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let stream = Device::simulator().stream().unwrap();
    let new = |options: &FeatureOptions| Detector::new(&stream, uvec2(20, 20), options);
    let fine = FeatureOptions::default();
    for window in [0, 1, 2, 6, 32, 33, u32::MAX] {
        let error = new(&FeatureOptions { window, ..fine.clone() }).unwrap_err();
        assert_says(error, "it must be odd and 3 to 31");
    }
    let error = new(&FeatureOptions { min_eigenvalue: f32::NAN, ..fine.clone() }).unwrap_err();
    assert_says(error, "the minimum eigenvalue is NaN");
    for gradient_sigma in [-1.0, 33.0, f32::NAN] {
        let error = new(&FeatureOptions { gradient_sigma, ..fine.clone() }).unwrap_err();
        assert_says(error, "it must be 0.1 to 32");
    }
    let huge = Detector::new(&stream, UVec2::splat(70_000), &fine).unwrap_err();
    assert_says(huge, "fewer than 2³² pixels");
    let mut detector = new(&fine).unwrap();
    let picture = Image::<Rgba8>::new(stream.device(), 21, 20).unwrap();
    let error = detector.submit(&stream, picture.view()).unwrap_err();
    assert_says(error, "21×20 pixels, but the detector was created for 20×20");
    let luma = Image::<f32>::new(stream.device(), 20, 19).unwrap();
    assert_says(detector.submit_luma(&stream, luma.view()).unwrap_err(), "the picture is 20×19");
}
