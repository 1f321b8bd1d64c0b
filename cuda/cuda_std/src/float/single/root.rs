//! Cube roots and the hypotenuse.

use super::super::hardware::{exp2_ftz, log2, reciprocal};
use super::{fma, sqrt, with_sign};

/// Returns the cube root of `x`.
#[inline(always)]
pub(crate) fn cbrt(x: f32) -> f32 {
    // One step of Newton's method after an approximation by the special function unit.
    let size = x.abs();
    let root = exp2_ftz(log2(size) * (1.0 / 3.0));
    let error = fma(size, reciprocal(root * root), -root);
    let root = fma(error, 1.0 / 3.0, root);
    // 0 and infinity, for which the step gives NaN, are their own cube roots.
    if size + size == size { x } else { with_sign(root, x) }
}

/// Returns the reciprocal of the cube root of `x`.
#[inline(always)]
pub(crate) fn rcbrt(x: f32) -> f32 {
    let size = x.abs();
    let root = exp2_ftz(log2(size) * (-1.0 / 3.0));
    let error = fma(-(size * root * root), root, 1.0);
    let better = fma(root * error, 1.0 / 3.0, root);
    // The step gives NaN for 0 and infinity, for which the approximation is exact.
    with_sign(if size + size == size { root } else { better }, x)
}

/// Returns √(`x`² + `y`²).
#[inline(always)]
pub(crate) fn hypot(x: f32, y: f32) -> f32 {
    let (x, y) = (x.abs(), y.abs());
    let long = x.max(y);
    // Keeps the squares between 2⁻⁹⁸ and 2¹²⁴.
    let (scale, back) = if long > 4.6e18 {
        (8.470_329_5e-22, 1.180_591_6e21)
    } else if long < 9.1e-13 {
        (1.267_650_6e30, 7.888_609e-31)
    } else {
        (1.0, 1.0)
    };
    let (x, y) = (x * scale, y * scale);
    let root = sqrt(fma(x, x, y * y)) * back;
    // This also holds if the other number is NaN, which `max` drops.
    if long == f32::INFINITY { long } else { root }
}
