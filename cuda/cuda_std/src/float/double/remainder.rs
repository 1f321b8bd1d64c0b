//! The remainder of a division.

use super::exp::times_power;
use super::{GpuFloat, fma, power_of_2, reciprocal, scale, upper};

/// The integer and the exponent of a positive number, which is the integer times 2^exponent. The
/// integer has 53 bits.
#[inline(always)]
fn split(x: f64) -> (f64, i32) {
    let tiny = x < f64::MIN_POSITIVE;
    let normal = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let bits = (upper(normal) >> 20) as i32;
    (scale(normal, ((1075 - bits) << 20) as u32), bits - if tiny { 1129 } else { 1075 })
}

/// Returns the remainder of the division of `x` by `y` with the sign of `x`, which is exact.
///
/// It is a long division with 48 binary digits per step.
pub(crate) fn remainder(x: f64, y: f64) -> f64 {
    let (size, divisor) = (x.abs(), y.abs());
    if x.is_nan() || y.is_nan() || size == f64::INFINITY || divisor == 0.0 {
        return f64::NAN;
    }
    if size < divisor {
        return x;
    }
    let (mut rest, exponent) = split(size);
    let (divisor, scale) = split(divisor);
    let mut digits = exponent - scale;
    if rest >= divisor {
        rest -= divisor;
    }
    // Slightly more than 1/divisor, so a digit of the quotient is right or too large by 1.
    let inverse = reciprocal(divisor) * (1.0 + 4.0 * f64::EPSILON);
    while digits > 0 {
        let step = digits.min(48);
        let shifted = rest * power_of_2(step);
        rest = fma(-GpuFloat::trunc(shifted * inverse), divisor, shifted);
        if rest < 0.0 {
            rest += divisor;
        }
        digits -= step;
    }
    GpuFloat::copysign(times_power(rest, scale), x)
}
