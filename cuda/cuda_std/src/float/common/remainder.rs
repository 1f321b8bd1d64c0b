//! The remainder of a division.

use super::terms::DIGITS;
use super::{Float, GpuFloat, fma, power_of_2, reciprocal, split_integer, times_power};

/// Returns the remainder of the division of `x` by `y` with the sign of `x`, which is exact.
///
/// It is a long division with [`DIGITS`] binary digits per step.
#[inline(always)]
pub(crate) fn remainder(x: Float, y: Float) -> Float {
    let (size, divisor) = (x.abs(), y.abs());
    // False for NaN.
    if !(size < Float::INFINITY && divisor > 0.0) {
        return Float::NAN;
    }
    if size < divisor {
        return x;
    }
    if divisor.is_nan() {
        return y;
    }
    let (mut rest, exponent) = split_integer(size);
    let (divisor, scale) = split_integer(divisor);
    let mut digits = exponent - scale;
    if rest >= divisor {
        rest -= divisor;
    }
    // Slightly more than 1/divisor, so a digit of the quotient is right or too large by 1.
    let inverse = reciprocal(divisor) * (1.0 + 4.0 * Float::EPSILON);
    while digits > 0 {
        let step = digits.min(DIGITS);
        let shifted = rest * power_of_2(step);
        rest = fma(-GpuFloat::trunc(shifted * inverse), divisor, shifted);
        if rest < 0.0 {
            rest += divisor;
        }
        digits -= step;
    }
    GpuFloat::copysign(times_power(rest, scale), x)
}

/// Returns the Euclidean remainder. `core` computes it with `%`, which LLVM expands to a quotient and a
/// product. The result is then wrong for a large quotient, and `inf % inf` is `inf`. Ours is exact.
pub(crate) fn rem_euclid(x: Float, y: Float) -> Float {
    let remainder = remainder(x, y);
    if remainder < 0.0 { remainder + y.abs() } else { remainder }
}

/// Returns the Euclidean quotient.
pub(crate) fn div_euclid(x: Float, y: Float) -> Float {
    let quotient = GpuFloat::trunc(x / y);
    match remainder(x, y) < 0.0 {
        true if y > 0.0 => quotient - 1.0,
        true => quotient + 1.0,
        false => quotient,
    }
}
