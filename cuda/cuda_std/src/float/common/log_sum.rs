//! The logarithm of a sum.

use super::exp::LN_2;
use super::log::{exponent, exponent_bits, log_rest};
use super::{Float, fma, scale, upper};

/// Returns ln(1 + `x` + `small`) + `twice` · ln 2, for a sum over −1. `small` is at most a few
/// rounding errors of `x`.
#[inline(always)]
pub(in crate::float) fn ln_1p_sum(x: Float, small: Float, twice: Float) -> Float {
    let e = exponent_bits(upper(1.0 + x));
    // 4·2^−e is a normal number for every e.
    let four = scale(4.0, e.wrapping_neg());
    // (1 + x)·2^−e − 1. Subtracting e from the exponent of `x` multiplies exactly; if e is not 0,
    // `x` is not small.
    let scaled = scale(x, e.wrapping_neg());
    let offset = fma(0.25, four, -1.0);
    let f = scaled + offset;
    // The error of the sum is exact, because |offset| is larger, or the sum is exact.
    let small = fma(0.25 * small, four, scaled - (f - offset));
    let e = exponent(e) + twice;
    // The derivative of the logarithm is about 1 − f.
    let rest = fma(e, LN_2.1, log_rest(f)) + fma(-f, small, small);
    fma(e, LN_2.0, f + rest)
}
