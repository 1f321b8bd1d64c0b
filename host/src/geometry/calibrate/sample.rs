//! Selects subsets of correspondences, and defines the minimum noise that all parts of the calibration assume.

/// Minimum noise to assume for correct correspondences, as a standard deviation in pixels. Detectors are not more
/// accurate, and a threshold near 0 would reject correct correspondences.
pub(super) const LEAST_NOISE: f64 = 0.3;

/// Returns at most `most` of the items, at regular intervals.
pub(super) fn some<T>(all: &[T], most: usize) -> Vec<&T> {
    all.iter().step_by(all.len().div_ceil(most.max(1)).max(1)).collect()
}
