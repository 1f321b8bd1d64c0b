//! Subsets of correspondences, and the noise that is believed at least.

/// Least noise that is believed, in pixels: detectors are no better, and a threshold needs some width.
pub(super) const LEAST_NOISE: f64 = 0.3;

/// Every `n`th of them, so that about `most` remain.
pub(super) fn some<T>(all: &[T], most: usize) -> Vec<&T> {
    all.iter().step_by(all.len().div_ceil(most.max(1)).max(1)).collect()
}
