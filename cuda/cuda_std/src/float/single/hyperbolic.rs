//! Hyperbolic functions and their inverses.

use super::super::hardware::{exp2_ftz, product, reciprocal};
use super::exp::{LOG2_E, quarter_exp};
use super::log::ln_1p_sum;
use super::{fma, polynomial, sqrt, with_sign};

/// sinh x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py sinh`.
const SINH: [f32; 3] = [0.166_667_16, 0.008_330_272_5, 0.000_203_730_64];

/// tanh x = x + x³·P(x²) for |x| ≤ 0.6, from `minimax.py tanh`.
const TANH: [f32; 5] = [-0.333_333, 0.133_319_36, -0.053_784_706, 0.020_798_542, -0.005_897_806];

/// From 2³⁰ on, x + √(x² ± 1) is 2x within a rounding error.
const HUGE: f32 = 1_073_741_824.0;

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

/// Returns the hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let square = size * size;
    let small = fma(square * size, polynomial(&TANH, square), size);
    let exp = exp2_ftz(size * (2.0 * LOG2_E.0));
    let large = fma(-2.0, reciprocal(exp + 1.0), 1.0);
    with_sign(if size < 0.6 { small } else { large }, x)
}

/// Returns the inverse hyperbolic sine of `x`.
#[inline(always)]
pub(crate) fn asinh(x: f32) -> f32 {
    // asinh x = ln(1 + x + x²/(1 + √(1 + x²))) for x ≥ 0.
    let size = x.abs();
    let square = product(size, size);
    let more = square * reciprocal(1.0 + sqrt(fma(size, size, 1.0)));
    let sum = size + more;
    let rest = (size - sum) + more;
    let (sum, rest, twice) = if size < HUGE { (sum, rest, 0.0) } else { (size, 0.0, 1.0) };
    let result = if size < f32::INFINITY { ln_1p_sum(sum, rest, twice) } else { size };
    with_sign(result, x)
}

/// Returns the inverse hyperbolic cosine of `x`.
#[inline(always)]
pub(crate) fn acosh(x: f32) -> f32 {
    // acosh x = ln(1 + t + √(t² + 2t)) with t = x − 1.
    let above = if x < 1.0 { f32::NAN } else { x - 1.0 };
    let root = sqrt(fma(above, above, above + above));
    let sum = above + root;
    // The root is larger than t.
    let rest = (root - sum) + above;
    let (sum, rest, twice) = if x < HUGE { (sum, rest, 0.0) } else { (x, 0.0, 1.0) };
    if x < f32::INFINITY { ln_1p_sum(sum, rest, twice) } else { x }
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
