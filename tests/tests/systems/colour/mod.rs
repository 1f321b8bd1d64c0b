//! Tests of colour matching between two cameras. They check the effect of the estimated correction on pictures, the
//! change of the correction over time, and the colour sums that the kernels compute.

mod day;
mod exposure;
mod live;
mod pictures;
mod scenes;
mod sums;

use panoweave::ops::colour::{Colours, Edge, solve};
use panoweave_tests::oracle::grade as apply;
use shared_types::colour::{BLACK, ColourSums, LUMA, SATURATED};

/// The red, green and blue levels of one pixel in both cameras.
type Pair = [[f64; 3]; 2];

fn luma(levels: [f64; 3]) -> f64 {
    (0..3).map(|c| f64::from(LUMA[c]) * levels[c]).sum()
}

/// Returns whether the kernel includes a pixel in the colour sums. It excludes pixels that are saturated or nearly
/// black.
fn counts(pair: &Pair) -> bool {
    let white = pair.iter().flatten().any(|level| *level > f64::from(SATURATED));
    let black = pair.iter().any(|levels| luma(*levels) < f64::from(BLACK));
    !white && !black
}

/// Returns the nine colour sums of the given pixels, each with the weight `weight`.
fn sums(pairs: &[Pair], weight: f64) -> ColourSums {
    let mut sums = [[0.0; 4]; 2];
    let mut weights = 0.0;
    for pair in pairs.iter().filter(|pair| counts(pair)) {
        for (sum, levels) in sums.iter_mut().zip(pair) {
            for c in 0..3 {
                sum[c] += weight * levels[c];
            }
            sum[3] += weight * luma(*levels);
        }
        weights += weight;
    }
    let [left, right] = sums.map(|sum| sum.map(|s| s as f32));
    ColourSums { left, right, weight: weights as f32 }
}

/// Returns the colours that match two cameras, or `None` if the sums allow no estimate.
fn estimate(sums: &ColourSums, min_weight: f32) -> Option<Colours> {
    let edge = Edge::new([0, 1], sums, min_weight)?;
    Some(Colours::of(solve(2, &[edge], None, &[])))
}

/// Returns the left camera's mean level minus the right camera's mean level for red, green, blue and luma, after
/// correction with `colours`.
fn differences<'a>(pairs: impl IntoIterator<Item = &'a Pair>, colours: &Colours) -> [f64; 4] {
    let mut sum = [0.0; 4];
    let mut pixels = 0.0;
    for [left, right] in pairs {
        let difference = std::array::from_fn(|c| {
            apply(&colours[0], c, left[c]) - apply(&colours[1], c, right[c])
        });
        for c in 0..3 {
            sum[c] += difference[c];
        }
        sum[3] += luma(difference);
        pixels += 1.0;
    }
    sum.map(|s| s / pixels)
}
