//! The inverse of a response: the light of a level.

use kernels_gpu::photometry::slope;
use shared_types::photometry::Response;

/// The smallest slope of a response. With a smaller one, a level would not determine its light.
const LEAST_SLOPE: f64 = 0.08;

/// Returns whether each level has one light, because the curve rises everywhere.
pub(super) fn rises(response: &Response) -> bool {
    (0..=64).all(|i| f64::from(slope(response, i as f32 / 64.0)) >= LEAST_SLOPE)
}

/// Returns the light (0 to 1) of a level from 0 to 1. The response must [rise](rises).
pub(super) fn light(response: &Response, level: f64) -> f64 {
    if (response.a, response.b) == (0.0, 0.0) {
        return level;
    }
    let (a, b) = (f64::from(response.a), f64::from(response.b));
    let curve = |x: f64| x + x * (1.0 - x) * (a + b * (2.0 * x - 1.0));
    let slope = |x: f64| 1.0 + a * (1.0 - 2.0 * x) + b * (x * (6.0 - 6.0 * x) - 1.0);
    let (mut low, mut high, mut at) = (0.0, 1.0, level);
    // Newton's method. A step out of the range that contains the light is replaced by half of this range.
    for _ in 0..26 {
        let excess = curve(at) - level;
        if excess > 0.0 {
            high = at
        } else {
            low = at
        }
        let next = at - excess / slope(at);
        let next = if next >= low && next <= high { next } else { 0.5 * (low + high) };
        if (next - at).abs() < 1e-9 {
            return next;
        }
        at = next;
    }
    at
}

/// Returns the light of each level that a channel with this number of bits has.
pub(super) fn lights(response: &Response, bits: u8) -> Vec<f32> {
    let levels = 1_u32 << bits;
    let white = f64::from(levels - 1);
    (0..levels).map(|level| light(response, f64::from(level) / white) as f32).collect()
}
