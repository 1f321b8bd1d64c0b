//! The hyperbolic sine and cosine, and the inverse hyperbolic tangent.

use super::exp::quarter_exp;
use super::terms::SINH;
use super::{fma, ln_1p_sum, polynomial, product, reciprocal, with_sign};

/// Returns the hyperbolic sine of `x`.
#[inline(always)]
pub(crate) fn sinh(x: f32) -> f32 {
    let size = x.abs();
    let square = size * size;
    let small = fma(square * size, polynomial(&SINH, square), size);
    let quarter = quarter_exp(size);
    let large = 2.0 * fma(-0.0625, reciprocal(quarter), quarter);
    with_sign(if size < 1.0 { small } else { large }, x)
}

/// Returns the hyperbolic cosine of `x`.
#[inline(always)]
pub(crate) fn cosh(x: f32) -> f32 {
    let quarter = quarter_exp(x.abs());
    2.0 * fma(0.0625, reciprocal(quarter), quarter)
}

/// Returns the inverse hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) fn atanh(x: f32) -> f32 {
    // atanh x = ln(1 + 2x/(1 − x)) / 2. The quotient is a sum of two f32.
    let size = x.abs();
    let under = 1.0 - size;
    let under_rest = (1.0 - under) - size;
    let inverse = reciprocal(under);
    let twice = size + size;
    let quotient = product(twice, inverse);
    let rest = inverse * fma(-quotient, under_rest, fma(-quotient, under, twice));
    let result = 0.5 * ln_1p_sum(quotient, rest, 0.0);
    let result = if size < 1.0 {
        result
    } else if size == 1.0 {
        f32::INFINITY
    } else {
        f32::NAN
    };
    with_sign(result, x)
}
