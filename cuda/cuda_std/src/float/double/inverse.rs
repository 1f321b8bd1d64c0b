//! Inverse trigonometric functions.

use super::{fma, polynomial, quotient, reciprocal, sqrt, with_sign};
use core::f64::consts::FRAC_PI_2;

/// asin x = x + x³·P(x²) for |x| ≤ 1/2, from `minimax.py asin_f64`.
const ASIN: [f64; 13] = [
    0.166_666_666_666_667_6,
    0.074_999_999_999_708_2,
    0.044_642_857_174_633_58,
    0.030_381_942_705_345_55,
    0.022_372_215_086_706_358,
    0.017_351_609_786_502_614,
    0.013_980_851_849_020_001,
    0.011_398_622_772_662_879,
    0.010_782_044_446_399_871,
    0.003_699_052_340_764_295_7,
    0.021_726_681_201_575_546,
    -0.021_028_059_328_977_663,
    0.032_647_810_987_852_785,
];

/// atan x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py atan_f64`.
const ATAN: [f64; 20] = [
    -0.333_333_333_333_330_65,
    0.199_999_999_999_509_5,
    -0.142_857_142_825_453_64,
    0.111_111_110_061_430_82,
    -0.090_909_069_872_081_93,
    0.076_922_796_531_131_7,
    -0.066_664_025_209_184_82,
    0.058_805_185_822_756_82,
    -0.052_534_770_506_563_96,
    0.047_221_799_583_948_21,
    -0.042_188_025_303_861_14,
    0.036_634_170_151_231_77,
    -0.029_891_470_135_864_726,
    0.021_969_486_760_270_72,
    -0.013_885_944_653_644_124,
    0.007_186_051_867_116_046,
    -0.002_879_484_343_946_057,
    0.000_829_383_382_573_259_9,
    -0.000_151_736_755_181_641_83,
    1.318_217_659_218_123_7e-5,
];

/// π/2 minus the f64 nearest to it.
const FRAC_PI_2_REST: f64 = 6.123_233_995_736_766e-17;

/// The arcsine of √((1 − |x|)/2), which is half the arccosine of |x|, for |x| > 1/2, and otherwise the
/// arcsine of |x|: as a sum of two f64.
struct Arcsine {
    hi: f64,
    lo: f64,
    is_half: bool,
}

#[inline(always)]
fn arcsine(size: f64) -> Arcsine {
    let is_half = size > 0.5;
    let square = if is_half { fma(-0.5, size, 0.5) } else { size * size };
    let hi = if is_half { sqrt(square) } else { size };
    Arcsine { hi, lo: square * hi * polynomial(&ASIN, square), is_half }
}

/// Returns the arcsine of `x`.
#[inline(always)]
pub(crate) fn asin(x: f64) -> f64 {
    let Arcsine { hi, lo, is_half } = arcsine(x.abs());
    // π/2 − 2·hi, its rounding error, and the rest.
    let complement = fma(-2.0, hi, FRAC_PI_2);
    let error = fma(-2.0, hi, FRAC_PI_2 - complement);
    let complement = complement + (error + fma(-2.0, lo, FRAC_PI_2_REST));
    with_sign(if is_half { complement } else { hi + lo }, x)
}

/// Returns the arccosine of `x`.
#[inline(always)]
pub(crate) fn acos(x: f64) -> f64 {
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
fn atan_small(x: f64) -> f64 {
    let square = x * x;
    fma(square * x, polynomial(&ATAN, square), x)
}

/// Returns the arctangent of `x`.
#[inline(always)]
pub(crate) fn atan(x: f64) -> f64 {
    // From 2⁶⁰ on, the result rounds to π/2. A comparison with NaN keeps it.
    let size = x.abs();
    let size = if size > 1.2e18 { 1.2e18 } else { size };
    let is_large = size > 1.0;
    let angle = atan_small(if is_large { reciprocal(size) } else { size });
    let complement = FRAC_PI_2 - (angle - FRAC_PI_2_REST);
    with_sign(if is_large { complement } else { angle }, x)
}

/// Returns the angle of the point (`x`, `y`) from the x axis.
#[inline(always)]
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    let (width, height) = (x.abs(), y.abs());
    let (long, short) = (width.max(height), width.min(height));
    // The scale makes a subnormal `long` normal, and keeps its reciprocal normal: 2⁻⁵⁰⁰ or 2⁵⁰⁰.
    let power = if long > 3.3e150 { 3.054_936_363_499_605e-151 } else { 3.273_390_607_896_142e150 };
    // 2⁻⁷⁰⁰ keeps the reciprocal of 0 finite, and changes no other number.
    let (long_scaled, short_scaled) = (fma(long, power, 1.901_091_566_295_16e-211), short * power);
    let (about, rest) = quotient(short_scaled, long_scaled);
    // Both numbers are infinite, or only the longer one.
    let of_infinity = if short == f64::INFINITY { 1.0 } else { 0.0 };
    let ratio = if long == f64::INFINITY { of_infinity } else { about + rest };
    let angle = atan_small(ratio);
    let angle = if height > width { FRAC_PI_2 - (angle - FRAC_PI_2_REST) } else { angle };
    let angle = if x.is_sign_negative() {
        core::f64::consts::PI - (angle - 2.0 * FRAC_PI_2_REST)
    } else {
        angle
    };
    // `max` and `min` drop NaN.
    if x.is_nan() || y.is_nan() { x + y } else { with_sign(angle, y) }
}
