//! Logarithms.

use super::{fma, ln_1p_sum, polynomial};

/// ln(1 + x) = x + x²·P(x) for |x| ≤ 1/3, from `minimax.py log`.
const LOG: [f32; 9] = [
    -0.5,
    0.333_332_24,
    -0.249_996_89,
    0.200_100_38,
    -0.166_854_75,
    0.140_109_4,
    -0.121_150_52,
    0.139_626_37,
    -0.131_916_37,
];

/// The logarithms of e and 2 to a base, each as a sum of two f32.
struct Base {
    of_e: (f32, f32),
    of_2: (f32, f32),
}

const NATURAL: Base = Base { of_e: (1.0, 0.0), of_2: (core::f32::consts::LN_2, -1.904_654_2e-9) };
const BINARY: Base = Base { of_e: (core::f32::consts::LOG2_E, 1.925_963e-8), of_2: (1.0, 0.0) };
const DECIMAL: Base = Base {
    of_e: (core::f32::consts::LOG10_E, -1.010_305e-8),
    of_2: (core::f32::consts::LOG10_2, -1.432_098_9e-8),
};

/// The bits of 2/3. Numbers are reduced to [2/3, 4/3), so that the logarithm of a number close to 1
/// does not cancel with a multiple of ln 2.
const TWO_THIRDS: u32 = 0x3f2a_aaab;

/// Returns the exponent bits `e` for which `x` · 2^−e is in [2/3, 4/3).
#[inline(always)]
pub(super) fn exponent_bits(x: u32) -> u32 {
    x.wrapping_sub(TWO_THIRDS) & 0xff80_0000
}

/// Returns `bits` as an integer, which is 2^23 times the result.
#[inline(always)]
pub(super) fn exponent(bits: u32) -> f32 {
    bits as i32 as f32 * (1.0 / 8_388_608.0)
}

/// Returns ln(1 + x) − x for |x| ≤ 1/3.
#[inline(always)]
pub(super) fn log_rest(x: f32) -> f32 {
    x * x * polynomial(&LOG, x)
}

/// Returns the logarithm of `x` to the base `base`.
#[inline(always)]
fn log(x: f32, base: Base) -> f32 {
    // Subnormal numbers are multiplied by 2²³, which makes them normal.
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 8_388_608.0 } else { x }.to_bits();
    let e = exponent_bits(bits);
    let f = f32::from_bits(bits.wrapping_sub(e)) - 1.0;
    let e = exponent(e) - if tiny { 23.0 } else { 0.0 };
    // The order keeps the small parts together: the rounding errors of all but the last two sums
    // are small.
    let small = fma(log_rest(f), base.of_e.0, fma(f, base.of_e.1, e * base.of_2.1));
    let log = fma(e, base.of_2.0, fma(f, base.of_e.0, small));
    if is_positive_and_finite(x) { log } else { log_of_special(x) }
}

#[inline(always)]
fn is_positive_and_finite(x: f32) -> bool {
    x.to_bits().wrapping_sub(1) < f32::INFINITY.to_bits() - 1
}

/// Returns the logarithm of 0, infinity, NaN or a negative number.
#[inline(always)]
fn log_of_special(x: f32) -> f32 {
    // For −∞ and finite negative numbers, the sum is NaN.
    if x == 0.0 { f32::NEG_INFINITY } else { fma(x, f32::INFINITY, f32::INFINITY) }
}

/// Returns the natural logarithm of `x`.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    log(x, NATURAL)
}

/// Returns the logarithm of `x` to the base 2.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    log(x, BINARY)
}

/// Returns the logarithm of `x` to the base 10.
#[inline(always)]
pub(crate) fn log10(x: f32) -> f32 {
    log(x, DECIMAL)
}

/// Returns the natural logarithm of 1 plus `x`.
#[inline(always)]
pub(crate) fn ln_1p(x: f32) -> f32 {
    let log = ln_1p_sum(x, 0.0, 0.0);
    if x > -1.0 && x < f32::INFINITY && x != 0.0 {
        log
    } else if x == 0.0 {
        x
    } else {
        log_of_special(1.0 + x)
    }
}
