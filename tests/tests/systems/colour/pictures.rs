//! Checks that the colour estimate removes most of the difference between two pictures of one scene whose exposures
//! differ by a known ratio.

use std::path::Path;

use panoweave::io::picture::Picture;
use panoweave::ops::colour::Colours;
use panoweave_tests::data;
use panoweave_tests::random::Random;

use crate::colour::{Pair, counts, differences, estimate, sums};

const RATIOS: [f64; 6] = [1.2, 1.75, 2.0, 3.5, 5.0, 8.0];

/// The response of a camera: the function from light to level, both from 0 to 1, and its inverse.
struct Response {
    name: &'static str,
    level: fn(f64) -> f64,
    light: fn(f64) -> f64,
    /// The maximum fraction of the luma differences of single pixels that may remain after correction. It depends on
    /// the response, because gain and gamma can only express a power function.
    pixels: f64,
}

const RESPONSES: [Response; 3] = [
    Response { name: "linear", level: |light| light, light: |level| level, pixels: 0.1 },
    Response { name: "sRGB", level: srgb, light: srgb_light, pixels: 0.2 },
    // The "film" response compresses highlights.
    Response {
        name: "film",
        level: |light| (1.0 - (-4.0 * light).exp()) / (1.0 - (-4.0_f64).exp()),
        light: |level| -(1.0 - level * (1.0 - (-4.0_f64).exp())).ln() / 4.0,
        pixels: 0.4,
    },
];

fn srgb(light: f64) -> f64 {
    if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

fn srgb_light(level: f64) -> f64 {
    if level <= 0.040_45 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
}

/// Returns the levels in the darker camera of a pixel that has `levels` in the brighter camera.
fn darker(levels: [f64; 3], response: &Response, ratio: f64) -> [f64; 3] {
    levels.map(|level| {
        let light = (response.light)(level / 255.0) / ratio;
        (255.0 * (response.level)(light)).round()
    })
}

fn pixels(file: &Path) -> Vec<[f64; 3]> {
    let picture = Picture::open(file).unwrap();
    picture.pixels().iter().step_by(SKIP).map(|p| [p.r, p.g, p.b].map(f64::from)).collect()
}

/// The step between the pixels of a photograph that are used. Skipping the others makes the tests faster.
const SKIP: usize = 31;

/// Returns the fractions of three differences between the cameras that remain after correction:
///
/// 1. the difference between the means of luma,
/// 2. the sum of the differences between the means of red, green and blue,
/// 3. the sum of the luma differences of all pixels.
fn left_over(pairs: &[Pair]) -> [f64; 3] {
    let colours = estimate(&sums(pairs, SKIP as f64), 10_000.0).unwrap();
    let counted = || pairs.iter().filter(|pair| counts(pair));
    let measure = |colours| {
        let means = differences(counted(), colours);
        let pixels: f64 = counted().map(|pair| differences([pair], colours)[3].abs()).sum();
        [means[3].abs(), means[..3].iter().map(|d| d.abs()).sum(), pixels]
    };
    let (before, after) = (measure(&Colours::IDENTITY), measure(&colours));
    std::array::from_fn(|i| after[i] / before[i])
}

/// Checks one scene with all exposure ratios and responses. In each case, first the left and then the right camera is
/// the brighter one.
fn check(name: &str, scene: &[[f64; 3]]) {
    for response in &RESPONSES {
        for ratio in RATIOS {
            let pair = |levels: &[f64; 3]| [*levels, darker(*levels, response, ratio)];
            let mut pairs: Vec<Pair> = scene.iter().map(pair).collect();
            let stays = left_over(&pairs);
            pairs.iter_mut().for_each(|pair| pair.reverse());
            assert_eq!(left_over(&pairs), stays);
            let [luma, channels, single] = stays;
            assert!(
                luma.max(channels) <= 0.1 && single <= response.pixels,
                "{name}, {}, ×{ratio}: {stays:.3?} stay",
                response.name
            );
        }
    }
}

#[test]
fn made_up_scenes() {
    let mut random = Random::new(11);
    // Use three scenes: a dark scene with lights, an evenly lit scene and a bright scene.
    for (name, power, tint) in
        [("night", 3.0, [1.0, 0.8, 0.6]), ("day", 1.0, [0.9, 1.0, 0.8]), ("snow", 0.3, [1.0; 3])]
    {
        let scene: Vec<_> = (0..12_000)
            .map(|_| {
                let light = random.between(0.0, 1.0).powf(power);
                tint.map(|t| f64::from((255.0 * t * light).round()))
            })
            .collect();
        check(name, &scene);
    }
}

#[test]
fn photographs() {
    for file in [
        "scenes/weir/weir_1.jpg",
        "scenes/arches_a/JDW_0302.jpg",
        "scenes/river/river1.jpg",
        "scenes/boof_apartment_building/apartment_building_01.jpg",
        "exposure/memorial/memorial06.png",
    ] {
        if let Some(path) = data(file) {
            check(file, &pixels(&path));
        }
    }
}

/// Checks two photos of a real camera whose exposures differ by one stop. After correction, at most 10 % of the
/// differences between the means may remain.
#[test]
fn photographs_of_two_exposures() {
    let (Some(dark), Some(bright)) =
        (data("exposure/memorial/memorial05.png"), data("exposure/memorial/memorial06.png"))
    else {
        return;
    };
    let pairs: Vec<Pair> =
        pixels(&dark).into_iter().zip(pixels(&bright)).map(|(a, b)| [a, b]).collect();
    let [luma, channels, single] = left_over(&pairs);
    assert!(luma.max(channels) <= 0.1, "{luma} and {channels} stay");
    assert!(single <= 0.4, "{single} stays");
}
