//! The remainder of a division.

use super::super::hardware::reciprocal;
use super::{GpuFloat, fma};

/// The integer and the exponent of a positive number, which is the integer times 2^exponent. The
/// integer has 24 bits.
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 16_777_216.0 } else { x }.to_bits();
    let exponent = (bits >> 23) as i32 - if tiny { 174 } else { 150 };
    // The exponent bits of 2²³.
    (f32::from_bits(bits & 0x007f_ffff | 0x4b00_0000), exponent)
}

/// Returns 2^`n`, for an `n` of a normal number.
#[inline(always)]
fn power_of_2(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// Returns the remainder of the division of `x` by `y` with the sign of `x`, which is exact.
///
/// It is a long division with 20 binary digits per step.
#[inline(always)]
pub(crate) fn remainder(x: f32, y: f32) -> f32 {
    let (size, divisor) = (x.abs(), y.abs());
    // False for NaN.
    if !(size < f32::INFINITY && divisor > 0.0) {
        return f32::NAN;
    }
    if size < divisor {
        return x;
    }
    if divisor.is_nan() {
        return y;
    }
    let (mut rest, exponent) = split(size);
    let (divisor, scale) = split(divisor);
    let mut digits = exponent - scale;
    if rest >= divisor {
        rest -= divisor;
    }
    // Slightly more than 1/divisor, so a digit of the quotient is right or too large by 1.
    let inverse = reciprocal(divisor) * (1.0 + 4.0 * f32::EPSILON);
    while digits > 0 {
        let step = digits.min(20);
        let shifted = rest * power_of_2(step);
        rest = fma(-GpuFloat::trunc(shifted * inverse), divisor, shifted);
        if rest < 0.0 {
            rest += divisor;
        }
        digits -= step;
    }
    // Two factors, because 2^scale may be below the range of normal numbers.
    let half = scale >> 1;
    (rest * power_of_2(half) * power_of_2(scale - half)).copysign(x)
}
