//! Cube roots.

use super::super::hardware::{exp2_ftz, log2_ftz, reciprocal_f64};
use super::{fma, power_of_2, product, scale, upper, with_sign};

/// Splits the size of `x` into m·8^k with m in [1, 8). Returns m, the reciprocal of its cube root
/// and k.
#[inline(always)]
fn split(x: f64) -> (f64, f64, i32) {
    // Subnormal numbers are multiplied by 2⁵⁴, which makes them normal.
    let tiny = x < f64::MIN_POSITIVE;
    let normal = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    // The exponent bits plus a multiple of 3, divided by 3: 1023 is 3·341.
    let third = (((upper(normal) >> 20) * 21_846) >> 16) as i32 - 341;
    let m = scale(normal, ((-3 * third) << 20) as u32);
    let about = exp2_ftz(log2_ftz(m as f32) * (-1.0 / 3.0)) as f64;
    // (1 − e)^(−1/3) = 1 + e/3 + 2e²/9 + …, for an error e of 2⁻²⁰.
    let error = fma(-product(m * about, about), about, 1.0);
    let root = fma(about * error, fma(2.0 / 9.0, error, 1.0 / 3.0), about);
    (m, root, third - if tiny { 18 } else { 0 })
}

/// Returns the cube root of `x`.
#[inline(always)]
pub(crate) fn cbrt(x: f64) -> f64 {
    let (m, inverse, third) = split(x.abs());
    let square = inverse * inverse;
    let root = m * square;
    let error = fma(-product(root, root), root, m);
    let root = fma(error * (1.0 / 3.0), square, root);
    // 0, infinity and NaN are their own cube roots.
    if x + x == x || x.is_nan() { x } else { with_sign(root * power_of_2(third), x) }
}

/// Returns the reciprocal of the cube root of `x`.
#[inline(always)]
pub(crate) fn rcbrt(x: f64) -> f64 {
    let (m, inverse, third) = split(x.abs());
    let error = fma(-product(product(m, inverse), inverse), inverse, 1.0);
    let inverse = fma(inverse * (1.0 / 3.0), error, inverse);
    let result = with_sign(inverse * power_of_2(-third), x);
    // The hardware gives the exact reciprocals of 0, infinity and NaN.
    if x + x == x || x.is_nan() { reciprocal_f64(x) } else { result }
}
