//! The error function and its complement.

use super::exp::{exp2_of_negative, times_gauss};
use super::terms::{ERF, ERF_LIMIT, ERFC_LIMIT, ERFC_SCALED, ERFC_TAIL};
use super::{Float, fma, polynomial, product, reciprocal, with_sign};

/// Returns the error function of `x` in 0..=1.
#[inline(always)]
fn erf_small(x: Float) -> Float {
    fma(x, polynomial(&ERF, x * x), x)
}

/// Returns the error function of `x`.
#[inline(always)]
pub(crate) fn erf(x: Float) -> Float {
    let size = x.abs();
    let small = erf_small(size);
    // A comparison with NaN keeps it.
    let inside = if size > ERF_LIMIT { ERF_LIMIT } else { size };
    let large = 1.0 - exp2_of_negative(inside * polynomial(&ERFC_TAIL, inside));
    with_sign(if size < 1.0 { small } else { large }, x)
}

/// Returns 1 minus the error function of `x`.
///
/// The quotient of a polynomial and 1 + 2x is multiplied by e^(−x²). Both factors are sums of a
/// large and a small part, because the errors of all operations together would exceed 2 ULP.
#[inline(always)]
pub(crate) fn erfc(x: Float) -> Float {
    // A comparison with NaN keeps it.
    let size = x.abs();
    let size = if size > ERFC_LIMIT { ERFC_LIMIT } else { size };

    let inverse = reciprocal(size + 4.0);
    let about = product(size - 4.0, inverse);
    // The residual does not contain the rounding errors of x − 4 and x + 4.
    let residual = fma(-about, size, fma(-4.0, about + 1.0, size));
    let t = fma(inverse, residual, about);
    let small = polynomial(&ERFC_SCALED, t);
    let over = 1.25 + small;
    let over_rest = (1.25 - over) + small;
    let under = fma(2.0, size, 1.0);
    let under_rest = fma(2.0, size, 1.0 - under);
    let inverse = reciprocal(under);
    let ratio = product(over, inverse);
    let rest = fma(-ratio, under, over);
    let rest = inverse * (fma(-ratio, under_rest, rest) + over_rest);

    let result = times_gauss(size, ratio, rest);
    let result = if x < 0.0 { 2.0 - result } else { result };
    // Here the quotient changes too much with the rounding error of its argument.
    if size < 0.47 { 1.0 - with_sign(erf_small(size), x) } else { result }
}
