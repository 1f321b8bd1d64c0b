//! Sums, polynomials and scaling.

use super::{Float, GpuFloat, power_of_2};

/// Returns `a * b + c`, rounded once.
#[inline(always)]
pub(in crate::float) fn fma(a: Float, b: Float, c: Float) -> Float {
    GpuFloat::mul_add(a, b, c)
}

/// Returns the polynomial with the coefficients `terms`, lowest power first, at `x`.
#[inline(always)]
pub(in crate::float) fn polynomial<const N: usize>(terms: &[Float; N], x: Float) -> Float {
    let mut sum = terms[N - 1];
    for i in (0..N - 1).rev() {
        sum = fma(sum, x, terms[i]);
    }
    sum
}

/// Returns x·2^n. The power is two factors, because it may be outside the range of one.
#[inline(always)]
pub(in crate::float) fn times_power(x: Float, n: i32) -> Float {
    let half = n >> 1;
    x * power_of_2(half) * power_of_2(n - half)
}
