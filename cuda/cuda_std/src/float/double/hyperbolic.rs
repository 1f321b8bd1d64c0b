//! Hyperbolic functions and their inverses.

use super::exp::exp_scaled;
use super::log::ln_1p_sum;
use super::{fma, polynomial, quotient, reciprocal, sqrt, with_sign};

/// sinh x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py sinh_f64`.
const SINH: [f64; 7] = [
    0.166_666_666_666_666_69,
    0.008_333_333_333_332_924,
    0.000_198_412_698_415_794_27,
    2.755_731_911_230_683_5e-6,
    2.505_212_999_583_371_3e-8,
    1.605_674_374_382_207e-10,
    7.773_897_873_077_726e-13,
];

/// tanh x = x + x³·P(x²) for |x| ≤ 0.6, from `minimax.py tanh_f64`.
const TANH: [f64; 11] = [
    -0.333_333_333_333_331_26,
    0.133_333_333_332_997_63,
    -0.053_968_253_949_331_565,
    0.021_869_488_003_232_26,
    -0.008_863_226_784_847_794,
    0.003_592_037_430_634_183_4,
    -0.001_455_215_592_417_636_4,
    0.000_587_189_061_413_342_2,
    -0.000_230_397_963_657_774_6,
    7.931_507_709_463_65e-5,
    -1.717_918_925_162_626_5e-5,
];

/// From 2⁵⁶ on, x + √(x² ± 1) is 2x within a rounding error.
const HUGE: f64 = 72_057_594_037_927_936.0;

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

/// Returns the hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    let small = fma(square * size, polynomial(&TANH, square), size);
    // From 20 on, the result rounds to 1. A comparison with NaN keeps it.
    let inside = if size > 20.0 { 20.0 } else { size };
    let large = fma(-2.0, reciprocal(exp_scaled(2.0 * inside, 0) + 1.0), 1.0);
    with_sign(if size < 0.6 { small } else { large }, x)
}

/// Returns the inverse hyperbolic sine of `x`.
#[inline(always)]
pub(crate) fn asinh(x: f64) -> f64 {
    // asinh x = ln(1 + x + x²/(1 + √(1 + x²))) for x ≥ 0.
    let size = x.abs();
    let inside = if size > HUGE { HUGE } else { size };
    let square = inside * inside;
    let more = square * reciprocal(1.0 + sqrt(fma(inside, inside, 1.0)));
    let sum = inside + more;
    let rest = (inside - sum) + more;
    let (sum, rest, twice) = if size < HUGE { (sum, rest, 0.0) } else { (size, 0.0, 1.0) };
    with_sign(if size < f64::INFINITY { ln_1p_sum(sum, rest, twice) } else { size }, x)
}

/// Returns the inverse hyperbolic cosine of `x`.
#[inline(always)]
pub(crate) fn acosh(x: f64) -> f64 {
    // acosh x = ln(1 + t + √(t² + 2t)) with t = x − 1.
    let above = if x < 1.0 { f64::NAN } else { x - 1.0 };
    let inside = if above > HUGE { HUGE } else { above };
    let root = sqrt(fma(inside, inside, inside + inside));
    let sum = inside + root;
    // The root is larger than t.
    let rest = (root - sum) + inside;
    let (sum, rest, twice) = if x < HUGE { (sum, rest, 0.0) } else { (x, 0.0, 1.0) };
    let result = ln_1p_sum(sum, rest, twice);
    if x < 1.0 {
        f64::NAN
    } else if x < f64::INFINITY {
        result
    } else {
        x
    }
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
