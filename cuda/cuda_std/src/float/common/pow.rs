//! Powers.
//!
//! `x^y = 2^(y·log2 x)`. An error in the exponent becomes a relative error of the result, so log2
//! and the product are carried as an unevaluated sum of two floats (Dekker 1971).

use super::sums::{exp2_of_sum, log2_as_sum};
use super::{Float, GpuFloat, fma, product};

/// Returns `x^y` for `x ≥ 0`. For a negative `x`, returns 1 if `y` is 0, and NaN otherwise.
#[inline(always)]
pub(crate) fn positive_powf(x: Float, y: Float) -> Float {
    let (log_hi, log_lo) = log2_as_sum(x);
    let hi = product(y, log_hi);
    let lo = fma(y, log_lo, fma(y, log_hi, -hi));
    let power = exp2_of_sum(hi, lo);
    // The special cases of IEEE 754 `pow` for x ≥ 0. They compile to selects, not branches.
    if y == 0.0 || x == 1.0 {
        1.0
    } else if x.is_nan() || y.is_nan() || x < 0.0 {
        Float::NAN
    } else if x == 0.0 || x == Float::INFINITY || y.is_infinite() {
        if (x > 1.0) == (y > 0.0) { Float::INFINITY } else { 0.0 }
    } else {
        power
    }
}

/// Returns `x^y`. A finite negative `x` gives NaN unless `y` is an integer or infinite.
#[inline(always)]
pub(crate) fn powf(x: Float, y: Float) -> Float {
    let size = positive_powf(x.abs(), y);
    let half = 0.5 * y;
    let is_integer = GpuFloat::trunc(y) == y;
    let is_odd = is_integer && GpuFloat::trunc(half) != half;
    if is_odd {
        GpuFloat::copysign(size, x)
    } else if x < 0.0 && x > Float::NEG_INFINITY && !is_integer {
        Float::NAN
    } else {
        size
    }
}
