//! Selects features from a map of eigenvalues.

use glam::UVec2;

use super::{Feature, FeatureOptions};

/// The number of candidates that are sorted first, as a multiple of the requested number of features. Later portions of
/// candidates are larger.
const FIRST: usize = 64;

/// The maximum number of pixels, whose indices are 32-bit.
const MOST: usize = 1 << 32;

/// Selects features as the KLT library does (Birchfield, version 1.3.4, `selectGoodFeatures.c`).
///
/// Visits the pixels in descending order of their eigenvalues. Selects a pixel if its eigenvalue is at least the
/// minimum, and if each selected feature is at least the minimum distance away along x or along y. `values` are the
/// eigenvalues of a picture of `size`, row by row. Pixels without a value are not selected, and neither are those after
/// the first 2³² pixels.
///
/// Pixels with equal values are visited from top to bottom, and from left to right within a row. The KLT library
/// truncates the values to integers and does not define the order of equal values.
#[must_use]
pub fn select(values: &[f32], size: UVec2, options: &FeatureOptions) -> Vec<Feature> {
    let (width, height) = (size.x as usize, size.y as usize);
    // The memory and the time depend on the number of values, and not on the size.
    let values = &values[..values.len().min(width.saturating_mul(height)).min(MOST)];
    let border = options.border.max(options.window / 2) as usize;
    // The KLT library does not select features with an eigenvalue below 1.
    let least = options.min_eigenvalue.max(1.0);
    let mut features = Vec::new();
    let mut candidates = Vec::new();
    let rows = values.chunks(width.max(1)).enumerate();
    for (y, row) in rows.take(height.saturating_sub(border)).skip(border) {
        let inner = row.iter().enumerate().take(width.saturating_sub(border)).skip(border);
        for (x, value) in inner.filter(|(_, value)| **value >= least) {
            // The bits of positive floats have the same order as the floats, so the largest value gets the smallest
            // key. Among equal values, the first pixel gets the smallest key.
            let index = (y * width + x) as u64;
            candidates.push(u64::from(!value.to_bits()) << 32 | index);
        }
    }
    let mut taken = vec![false; values.len()];
    let reach = options.min_distance.saturating_sub(1) as usize;
    let (mut rest, mut some) = (&mut candidates[..], options.count.saturating_mul(FIRST).max(1));
    // Sort the candidates in portions of doubling size, because the loop usually ends long before it has used all of
    // them.
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
            let (left, right) = (x.saturating_sub(reach), x.saturating_add(reach).min(width - 1));
            let rows = taken.chunks_mut(width).take(y.saturating_add(reach).saturating_add(1));
            for row in rows.skip(y.saturating_sub(reach)) {
                let end = row.len().min(right + 1);
                row[left.min(end)..end].fill(true);
            }
        }
        (rest, some) = (others, some.saturating_mul(2));
    }
    features
}
