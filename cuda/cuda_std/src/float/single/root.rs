//! Cube roots.

use super::super::hardware::{exp2_ftz, log2, reciprocal};
use super::{fma, with_sign};

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
