//! Inverse trigonometric functions.

use super::consts::{self, FRAC_PI_2};
use super::terms::{ASIN, ATAN, ATAN_LIMIT, ATAN2_LEAST, ATAN2_SCALE, FRAC_PI_2_REST};
use super::{Float, fma, polynomial, ratio, reciprocal, sqrt, with_sign};

/// The arcsine of √((1 − |x|)/2), which is half the arccosine of |x|, for |x| > 1/2, and otherwise the
/// arcsine of |x|: as a sum of two Float.
struct Arcsine {
    hi: Float,
    lo: Float,
    is_half: bool,
}

#[inline(always)]
fn arcsine(size: Float) -> Arcsine {
    let is_half = size > 0.5;
    let square = if is_half { fma(-0.5, size, 0.5) } else { size * size };
    let hi = if is_half { sqrt(square) } else { size };
    Arcsine { hi, lo: square * hi * polynomial(&ASIN, square), is_half }
}

/// Returns the arcsine of `x`.
#[inline(always)]
pub(crate) fn asin(x: Float) -> Float {
    let Arcsine { hi, lo, is_half } = arcsine(x.abs());
    // π/2 − 2·hi, its rounding error, and the rest.
    let complement = fma(-2.0, hi, FRAC_PI_2);
    let error = fma(-2.0, hi, FRAC_PI_2 - complement);
    let complement = complement + (error + fma(-2.0, lo, FRAC_PI_2_REST));
    with_sign(if is_half { complement } else { hi + lo }, x)
}

/// Returns the arccosine of `x`.
#[inline(always)]
pub(crate) fn acos(x: Float) -> Float {
    let Arcsine { hi, lo, is_half } = arcsine(x.abs());
    if is_half {
        // For a negative `x`, π minus the result.
        let angle = if x < 0.0 { FRAC_PI_2 - hi - (lo - FRAC_PI_2_REST) } else { hi + lo };
        2.0 * angle
    } else {
        let angle = with_sign(hi + lo, x);
        FRAC_PI_2 - (angle - FRAC_PI_2_REST)
    }
}

/// Returns the arctangent of `x` in 0..=1.
#[inline(always)]
fn atan_small(x: Float) -> Float {
    let square = x * x;
    fma(square * x, polynomial(&ATAN, square), x)
}

/// Returns the arctangent of `x`.
#[inline(always)]
pub(crate) fn atan(x: Float) -> Float {
    // A comparison with NaN keeps it.
    let size = x.abs();
    let size = if size > ATAN_LIMIT { ATAN_LIMIT } else { size };
    let is_large = size > 1.0;
    let angle = atan_small(if is_large { reciprocal(size) } else { size });
    let complement = FRAC_PI_2 - (angle - FRAC_PI_2_REST);
    with_sign(if is_large { complement } else { angle }, x)
}

/// Returns the angle of the point (`x`, `y`) from the x axis.
#[inline(always)]
pub(crate) fn atan2(y: Float, x: Float) -> Float {
    let (width, height) = (x.abs(), y.abs());
    let (long, short) = (width.max(height), width.min(height));
    let (limit, down, up) = ATAN2_SCALE;
    let scale = if long > limit { down } else { up };
    let quotient = ratio(short * scale, fma(long, scale, ATAN2_LEAST));
    // Both numbers are infinite, or only the longer one.
    let of_infinity = if short == Float::INFINITY { 1.0 } else { 0.0 };
    let quotient = if long == Float::INFINITY { of_infinity } else { quotient };
    let angle = atan_small(quotient);
    let angle = if height > width { FRAC_PI_2 - (angle - FRAC_PI_2_REST) } else { angle };
    let angle =
        if x.is_sign_negative() { consts::PI - (angle - 2.0 * FRAC_PI_2_REST) } else { angle };
    let angle = with_sign(angle, y);
    // `max` and `min` drop NaN.
    if x.is_nan() || y.is_nan() { x + y } else { angle }
}
