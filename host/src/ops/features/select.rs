//! Selects features from a map of eigenvalues.

use glam::UVec2;

use super::{Feature, FeatureOptions};

/// The number of best candidates per requested feature that are sorted first.
const FIRST: usize = 64;

/// Selects features as the KLT library does (Birchfield, version 1.3.4, `selectGoodFeatures.c`): from the largest
/// eigenvalue down, each that reaches the minimum and has no selected feature within the minimum distance along both
/// axes.
///
/// `values` are the eigenvalues of a picture of `size`, row by row. Of equal values, the upper one comes first, then
/// the left one. The library truncates values to integers and leaves their order open.
#[must_use]
pub fn select(values: &[f32], size: UVec2, options: &FeatureOptions) -> Vec<Feature> {
    let (width, height) = (size.x as usize, size.y as usize);
    let border = options.border.max(options.window / 2) as usize;
    // The library has no features below 1.
    let least = options.min_eigenvalue.max(1.0);
    let mut features = Vec::new();
    let mut candidates = Vec::new();
    for y in border..height.saturating_sub(border) {
        for x in border..width.saturating_sub(border) {
            let value = values[y * width + x];
            if value >= least {
                // Positive floats sort like their bits: the largest value, and the first pixel of equal values, gets
                // the smallest key.
                let index = (y * width + x) as u64;
                candidates.push(u64::from(!value.to_bits()) << 32 | index);
            }
        }
    }
    let mut taken = vec![false; width * height];
    let reach = options.min_distance.saturating_sub(1) as usize;
    let (mut rest, mut some) = (&mut candidates[..], options.count.saturating_mul(FIRST).max(1));
    // Usually few candidates are examined, so only those are sorted.
    while !rest.is_empty() && features.len() < options.count {
        let next = some.min(rest.len());
        if next < rest.len() {
            rest.select_nth_unstable(next);
        }
        let (best, others) = rest.split_at_mut(next);
        best.sort_unstable();
        for &key in best.iter() {
            let index = (key & u64::from(u32::MAX)) as usize;
            if taken[index] {
                continue;
            }
            let (x, y) = (index % width, index / width);
            features.push(Feature { x: x as u32, y: y as u32, value: values[index] });
            if features.len() == options.count {
                break;
            }
            let (left, right) = (x.saturating_sub(reach), (x + reach).min(width - 1));
            for row in y.saturating_sub(reach)..=(y + reach).min(height - 1) {
                taken[row * width + left..=row * width + right].fill(true);
            }
        }
        (rest, some) = (others, some.saturating_mul(2));
    }
    features
}
