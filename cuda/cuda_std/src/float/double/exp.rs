//! Exponential functions.

use super::{fma, nearest, polynomial, power_of_2, product, times_power};

/// ln 2 as a sum of two f64.
pub(super) const LN_2: (f64, f64) = (core::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// e^x − 1 = x + x²·P(x) for |x| ≤ 1/2, from `minimax.py expm1_f64`.
const EXPM1: [f64; 11] = [
    0.5,
    0.166_666_666_666_670_54,
    0.041_666_666_666_667_32,
    0.008_333_333_333_113_37,
    0.001_388_888_888_860_940_4,
    0.000_198_412_702_463_608_1,
    2.480_158_772_352_078_6e-5,
    2.755_699_377_784_404e-6,
    2.755_702_814_836_303e-7,
    2.517_073_481_778_971e-8,
    2.097_060_777_263_831e-9,
];

/// Returns e^x − 1 for |x| ≤ 1/2.
#[inline(always)]
pub(super) fn exp_m1_small(x: f64) -> f64 {
    fma(x * x, polynomial(&EXPM1, x), x)
}

/// Limits `x` to a range. NaN stays NaN.
#[inline(always)]
pub(super) fn limit(x: f64, least: f64, greatest: f64) -> f64 {
    let x = if x > greatest { greatest } else { x };
    if x < least { least } else { x }
}

/// Returns e to the power `x`, times 2^`shift`.
#[inline(always)]
pub(super) fn exp_scaled(x: f64, shift: i32) -> f64 {
    // Beyond this range, the result is 0 or infinite.
    let x = limit(x, -750.0, 711.0);
    let (n, power) = nearest(x, core::f64::consts::LOG2_E);
    let p = exp_m1_small(fma(-n, LN_2.1, fma(-n, LN_2.0, x)));
    times_power(1.0 + p, power + shift)
}

/// Returns e to the power `x`.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    exp_scaled(x, 0)
}

/// Returns 2 to the power `x`.
#[inline(always)]
pub(crate) fn exp2(x: f64) -> f64 {
    exp2_in_range(limit(x, -1080.0, 1025.0), 0.0)
}

/// Returns 2 to the power `hi + lo`, where `hi` is in −1080..=1025.
#[inline(always)]
pub(super) fn exp2_in_range(hi: f64, lo: f64) -> f64 {
    let (n, power) = nearest(hi, 1.0);
    let fraction = (hi - n) + lo;
    let p = exp_m1_small(fma(fraction, LN_2.0, fraction * LN_2.1));
    times_power(1.0 + p, power)
}

/// Returns e to the power `x`, minus 1.
#[inline(always)]
pub(crate) fn exp_m1(x: f64) -> f64 {
    // Outside this range, the result is −1 or infinite.
    let inside = limit(x, -64.0, 710.0);
    // Without a multiple of ln 2, the sum below does not cancel.
    let scale = if x.abs() < 0.48 { 0.0 } else { core::f64::consts::LOG2_E };
    let (n, power) = nearest(inside, scale);
    let rest = fma(-n, LN_2.1, fma(-n, LN_2.0, inside));
    // 2^n halved, so that it is a normal number for n = 1024.
    let power = power_of_2(power - 1);
    let half = fma(power, exp_m1_small(rest), power - 0.5);
    // The sum 0.5·x + 0 loses the sign of −0 and the last bits of subnormal numbers.
    if x.abs() < 1e-20 { x } else { half + half }
}

/// Returns 2 to the power `x`, which is negative.
#[inline(always)]
pub(super) fn exp2_of_negative(x: f64) -> f64 {
    exp2_in_range(x, 0.0)
}

/// Returns e to the power 2`x`. From 20 on, the result is that for 20.
#[inline(always)]
pub(super) fn exp_of_twice(x: f64) -> f64 {
    // A comparison with NaN keeps it.
    let inside = if x > 20.0 { 20.0 } else { x };
    exp_scaled(2.0 * inside, 0)
}

/// ln 2 as a sum of two f64. The products of the first with integers up to 20 bits are exact.
const SHORT_LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);

/// Returns (`factor` + `rest`)·e^(−`x`²), where e^(−x²) = 2^n·(1 + p).
#[inline(always)]
pub(super) fn times_gauss(x: f64, factor: f64, rest: f64) -> f64 {
    let square = product(x, x);
    let square_rest = fma(x, x, -square);
    let (n, power) = nearest(square, -core::f64::consts::LOG2_E);
    let p = exp_m1_small(fma(-n, SHORT_LN_2.0, -square));
    // The small part of the exponent is under 2⁻²², so it multiplies the result by 1 plus this.
    let small = -fma(n, SHORT_LN_2.1, square_rest);
    let small = fma(0.5 * small, small, small);
    let rest = fma(fma(factor, p, factor), small, fma(rest, p, rest));
    times_power(factor + fma(factor, p, rest), power)
}
