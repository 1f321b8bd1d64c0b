//! The hyperbolic sine and cosine, and the inverse hyperbolic tangent.

use super::exp::exp_scaled;
use super::terms::SINH;
use super::{fma, ln_1p_sum, polynomial, quotient, reciprocal, with_sign};

/// Returns the hyperbolic sine of `x`.
#[inline(always)]
pub(crate) fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    let small = fma(square * size, polynomial(&SINH, square), size);
    let half = exp_scaled(size, -1);
    let large = if size > 40.0 { half } else { fma(-0.25, reciprocal(half), half) };
    with_sign(if size < 1.0 { small } else { large }, x)
}

/// Returns the hyperbolic cosine of `x`.
#[inline(always)]
pub(crate) fn cosh(x: f64) -> f64 {
    let half = exp_scaled(x.abs(), -1);
    if x.abs() > 40.0 { half } else { fma(0.25, reciprocal(half), half) }
}

/// Returns the inverse hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) fn atanh(x: f64) -> f64 {
    // atanh x = ln(1 + 2x/(1 − x)) / 2. The quotient is a sum of two f64.
    let size = x.abs();
    let under = 1.0 - size;
    let under_rest = (1.0 - under) - size;
    let (about, rest) = quotient(size + size, under);
    let rest = fma(-about * under_rest, reciprocal(under), rest);
    let result = 0.5 * ln_1p_sum(about, rest, 0.0);
    let result = if size < 1.0 {
        result
    } else if size == 1.0 {
        f64::INFINITY
    } else {
        f64::NAN
    };
    // The quotient of subnormal numbers is not exact.
    if size < 1e-20 { x } else { with_sign(result, x) }
}
