//! The hyperbolic tangent, and inverses of hyperbolic functions.

use super::exp::exp_of_twice;
use super::log_sum::ln_1p_sum;
use super::terms::{HUGE, SQUARE_LIMIT, TANH};
use super::{Float, fma, polynomial, product, reciprocal, sqrt, with_sign};

/// Returns the hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) fn tanh(x: Float) -> Float {
    let size = x.abs();
    let square = size * size;
    let small = fma(square * size, polynomial(&TANH, square), size);
    let large = fma(-2.0, reciprocal(exp_of_twice(size) + 1.0), 1.0);
    with_sign(if size < 0.6 { small } else { large }, x)
}

/// Returns the inverse hyperbolic sine of `x`.
#[inline(always)]
pub(crate) fn asinh(x: Float) -> Float {
    // asinh x = ln(1 + x + x²/(1 + √(1 + x²))) for x ≥ 0.
    let size = x.abs();
    let inside = if size > SQUARE_LIMIT { SQUARE_LIMIT } else { size };
    let square = product(inside, inside);
    let more = square * reciprocal(1.0 + sqrt(fma(inside, inside, 1.0)));
    let sum = inside + more;
    let rest = (inside - sum) + more;
    let (sum, rest, twice) = if size < HUGE { (sum, rest, 0.0) } else { (size, 0.0, 1.0) };
    let result = if size < Float::INFINITY { ln_1p_sum(sum, rest, twice) } else { size };
    with_sign(result, x)
}

/// Returns the inverse hyperbolic cosine of `x`.
#[inline(always)]
pub(crate) fn acosh(x: Float) -> Float {
    // acosh x = ln(1 + t + √(t² + 2t)) with t = x − 1.
    let above = if x < 1.0 { Float::NAN } else { x - 1.0 };
    let inside = if above > SQUARE_LIMIT { SQUARE_LIMIT } else { above };
    let root = sqrt(fma(inside, inside, inside + inside));
    let sum = inside + root;
    // The root is larger than t.
    let rest = (root - sum) + inside;
    let (sum, rest, twice) = if x < HUGE { (sum, rest, 0.0) } else { (x, 0.0, 1.0) };
    if x < Float::INFINITY { ln_1p_sum(sum, rest, twice) } else { x }
}
