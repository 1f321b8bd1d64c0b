//! The hypotenuse.

use super::terms::{HYPOT_LARGE, HYPOT_SMALL};
use super::{Float, fma, sqrt};

/// Returns √(`x`² + `y`²).
#[inline(always)]
pub(crate) fn hypot(x: Float, y: Float) -> Float {
    let (x, y) = (x.abs(), y.abs());
    let long = x.max(y);
    let (scale, back) = if long > HYPOT_LARGE.0 {
        (HYPOT_LARGE.1, HYPOT_LARGE.2)
    } else if long < HYPOT_SMALL.0 {
        (HYPOT_SMALL.1, HYPOT_SMALL.2)
    } else {
        (1.0, 1.0)
    };
    let (x, y) = (x * scale, y * scale);
    let root = sqrt(fma(x, x, y * y)) * back;
    // This also holds if the other number is NaN, which `max` drops.
    if long == Float::INFINITY { long } else { root }
}
