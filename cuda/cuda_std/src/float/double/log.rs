//! Logarithms.

use super::exp::LN_2;
use super::{fma, ln_1p_sum, polynomial, product, reciprocal, scale, upper};

/// ln((1 + s)/(1 − s)) = 2s + s³·P(s²) for |s| ≤ 3 − √8, from `minimax.py log_f64`.
const LOG: [f64; 7] = [
    0.666_666_666_666_673_5,
    0.399_999_999_994_097_47,
    0.285_714_287_435_392_07,
    0.222_221_984_488_433_2,
    0.181_835_711_166_904_56,
    0.153_138_683_719_595_5,
    0.147_978_585_709_926_28,
];

/// The upper half of the bits of √½. The mantissa of a reduced number is in [√½, √2).
const ROOT: u32 = 0x3fe6_a09e;

/// Returns the exponent bits `e`, in the upper half of a number's bits, for which the number times
/// 2^−e is in [√½, √2).
#[inline(always)]
pub(super) fn exponent_bits(upper: u32) -> u32 {
    upper.wrapping_sub(ROOT) & 0xfff0_0000
}

/// Returns the exponent of 2 of exponent bits.
#[inline(always)]
pub(super) fn exponent(bits: u32) -> f64 {
    f64::from(bits as i32 >> 20)
}

/// Splits a positive finite number into m − 1, with m in [√½, √2), and the exponent of 2.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    // Subnormal numbers are multiplied by 2⁵⁴, which makes them normal.
    let tiny = x < f64::MIN_POSITIVE;
    let normal = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let e = exponent_bits(upper(normal));
    let f = scale(normal, e.wrapping_neg()) - 1.0;
    (f, f64::from((e as i32 >> 20) - if tiny { 54 } else { 0 }))
}

/// Returns ln(1 + f) − f for 1 + f in [√½, √2).
#[inline(always)]
pub(super) fn log_rest(f: f64) -> f64 {
    // With s = f/(2 + f), ln(1 + f) = 2s + R·s = f − f²/2 + s·(f²/2 + R). The last term is small, so
    // the rounding error of s does not matter.
    let s = f * reciprocal(2.0 + f);
    let square = s * s;
    let half = 0.5 * f * f;
    fma(s, fma(square, polynomial(&LOG, square), half), -half)
}

/// Returns `log`, or the logarithm of `x` if `x` is 0, infinite, negative or NaN.
#[inline(always)]
pub(super) fn or_special(x: f64, log: f64) -> f64 {
    if x > 0.0 && x < f64::INFINITY {
        log
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else {
        // For −∞ and finite negative numbers, the sum is NaN.
        fma(x, f64::INFINITY, f64::INFINITY)
    }
}

/// Returns the natural logarithm of `x`.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let (f, e) = split(x);
    or_special(x, fma(e, LN_2.0, f + fma(e, LN_2.1, log_rest(f))))
}

/// Returns the logarithm of `x` to a base, whose logarithms of e and 2 are sums of two f64.
#[inline(always)]
fn log(x: f64, of_e: (f64, f64), of_2: (f64, f64)) -> f64 {
    let (f, e) = split(x);
    // The natural logarithm of the mantissa, as a sum of two f64.
    let rest = log_rest(f);
    let hi = f + rest;
    let lo = (f - hi) + rest;
    let scaled = product(hi, of_e.0);
    let small = fma(lo, of_e.0, fma(hi, of_e.1, fma(hi, of_e.0, -scaled)));
    let exponent = product(e, of_2.0);
    let small = fma(e, of_2.1, fma(e, of_2.0, -exponent)) + small;
    // If `exponent` is not 0, it is larger than `scaled`, or as large, so the error is exact.
    let sum = exponent + scaled;
    or_special(x, sum + (((exponent - sum) + scaled) + small))
}

/// Returns the logarithm of `x` to the base 2.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    log(x, (core::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17), (1.0, 0.0))
}

/// Returns the logarithm of `x` to the base 10.
#[inline(always)]
pub(crate) fn log10(x: f64) -> f64 {
    log(
        x,
        (core::f64::consts::LOG10_E, 1.098_319_650_216_765e-17),
        (core::f64::consts::LOG10_2, -2.803_728_127_785_170_4e-18),
    )
}

/// Returns the natural logarithm of 1 plus `x`.
#[inline(always)]
pub(crate) fn ln_1p(x: f64) -> f64 {
    let log = ln_1p_sum(x, 0.0, 0.0);
    if x == 0.0 { x } else { or_special(1.0 + x, log) }
}
