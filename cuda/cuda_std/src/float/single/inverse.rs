//! Inverse trigonometric functions.

use super::super::hardware::{product, reciprocal};
use super::{fma, polynomial, sqrt, with_sign};
use core::f32::consts::FRAC_PI_2;

/// asin x = x + x³·P(x²) for |x| ≤ 1/2, from `minimax.py asin`.
const ASIN: [f32; 5] = [0.166_667_52, 0.074_953_064, 0.045_469_876, 0.024_179_667, 0.042_169_33];

/// atan x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py atan`.
const ATAN: [f32; 8] = [
    -0.333_331_53,
    0.199_937_67,
    -0.142_109_87,
    0.106_656_53,
    -0.075_513_13,
    0.043_199_7,
    -0.016_359_622,
    0.002_918_425_2,
];

/// π/2 minus the f32 nearest to it.
const FRAC_PI_2_REST: f32 = -4.371_139e-8;

/// The arcsine of √((1 − |x|)/2), which is half the arccosine of |x|, for |x| > 1/2, and otherwise the
/// arcsine of |x|: as a sum of two f32.
struct Arcsine {
    hi: f32,
    lo: f32,
    is_half: bool,
}

#[inline(always)]
fn arcsine(size: f32) -> Arcsine {
    let is_half = size > 0.5;
    let square = if is_half { fma(-0.5, size, 0.5) } else { size * size };
    let hi = if is_half { sqrt(square) } else { size };
    Arcsine { hi, lo: square * hi * polynomial(&ASIN, square), is_half }
}

/// Returns the arcsine of `x`.
#[inline(always)]
pub(crate) fn asin(x: f32) -> f32 {
    let Arcsine { hi, lo, is_half } = arcsine(x.abs());
    // π/2 − 2·hi, its rounding error, and the rest.
    let complement = fma(-2.0, hi, FRAC_PI_2);
    let error = fma(-2.0, hi, FRAC_PI_2 - complement);
    let complement = complement + (error + fma(-2.0, lo, FRAC_PI_2_REST));
    with_sign(if is_half { complement } else { hi + lo }, x)
}

/// Returns the arccosine of `x`.
#[inline(always)]
pub(crate) fn acos(x: f32) -> f32 {
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
fn atan_small(x: f32) -> f32 {
    let square = x * x;
    fma(square * x, polynomial(&ATAN, square), x)
}

/// Returns the arctangent of `x`.
#[inline(always)]
pub(crate) fn atan(x: f32) -> f32 {
    let size = x.abs();
    let is_large = size > 1.0;
    let angle = atan_small(if is_large { reciprocal(size) } else { size });
    let complement = FRAC_PI_2 - (angle - FRAC_PI_2_REST);
    with_sign(if is_large { complement } else { angle }, x)
}

/// Returns the angle of the point (`x`, `y`) from the x axis.
#[inline(always)]
pub(crate) fn atan2(y: f32, x: f32) -> f32 {
    let (width, height) = (x.abs(), y.abs());
    let (long, short) = (width.max(height), width.min(height));
    // The scale makes a subnormal `long` normal, and keeps its reciprocal normal.
    let scale = if long > 4.6e18 { 2.168_404_3e-19 } else { 1.844_674_4e19 };
    // 2⁻¹²⁰ keeps the reciprocal of 0 finite, and changes no other number.
    let (long_scaled, short_scaled) = (fma(long, scale, 7.523_164e-37), short * scale);
    let inverse = reciprocal(long_scaled);
    let about = product(short_scaled, inverse);
    let quotient = fma(fma(-about, long_scaled, short_scaled), inverse, about);
    // Both numbers are infinite, or only the longer one.
    let of_infinity = if short == f32::INFINITY { 1.0 } else { 0.0 };
    let quotient = if long == f32::INFINITY { of_infinity } else { quotient };
    let angle = atan_small(quotient);
    let angle = if height > width { FRAC_PI_2 - (angle - FRAC_PI_2_REST) } else { angle };
    let angle = if x.is_sign_negative() {
        core::f32::consts::PI - (angle - 2.0 * FRAC_PI_2_REST)
    } else {
        angle
    };
    let angle = with_sign(angle, y);
    // `max` and `min` drop NaN.
    if x.is_nan() || y.is_nan() { x + y } else { angle }
}
