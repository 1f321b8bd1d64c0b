//! Subsets of correspondences, and the minimum noise.

/// Minimum noise in pixels: detectors are not more accurate, and a threshold needs some width.
pub(super) const LEAST_NOISE: f64 = 0.3;

/// Returns every `n`th item, about `most` in all.
pub(super) fn some<T>(all: &[T], most: usize) -> Vec<&T> {
    all.iter().step_by(all.len().div_ceil(most.max(1)).max(1)).collect()
}
