//! The mathematical functions of an `f32`, within 2 ULP and without `f64`, because most GPUs have
//! few units for `f64`.
//!
//! Each function reduces its argument to a small range and evaluates a polynomial there. The file
//! `cuda/accuracy/minimax.py` computes the coefficients, and `cuda/doc/maths.md` lists the measured
//! errors. Most branches are short enough for the compiler to replace them with selects.
//!
//! The algorithms use multiply-adds with one rounding and the approximations of the special
//! function unit, which they correct where 2 ULP require it. On the CPU, the same code runs in the
//! unit tests and behind [`FloatExt`](crate::FloatExt).
#![cfg_attr(
    not(any(target_arch = "nvptx64", test)),
    allow(dead_code, unused_imports, reason = "on the CPU, `GpuFloat` calls the standard library")
)]

mod error;
mod exp;
mod hyperbolic;
mod inverse;
mod log;
mod pow;
mod reduce;
mod remainder;
mod root;
#[cfg(test)]
mod tests;
mod trig;

pub(crate) use error::{erf, erfc};
pub(crate) use exp::{exp, exp_m1, exp2};
pub(crate) use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub(crate) use inverse::{acos, asin, atan, atan2};
pub(crate) use log::{ln, ln_1p, log2, log10};
pub(crate) use pow::{positive_powf, powf};
pub(crate) use remainder::remainder;
pub(crate) use root::{cbrt, hypot, rcbrt};
pub(crate) use trig::{cos, cospi, sin, sin_cos, sincospi, sinpi, tan};

use super::GpuFloat;

/// Returns `a * b + c`, rounded once.
#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    GpuFloat::mul_add(a, b, c)
}

/// Returns the polynomial with the coefficients `terms`, lowest power first, at `x`.
#[inline(always)]
fn polynomial<const N: usize>(terms: &[f32; N], x: f32) -> f32 {
    let mut sum = terms[N - 1];
    for i in (0..N - 1).rev() {
        sum = fma(sum, x, terms[i]);
    }
    sum
}

/// 1.5·2²³. The sum with a small number is a float whose last bits are the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// Returns the integer next to `a * b`, which is within ±2²¹, as a float and as the last bits of an
/// integer.
#[inline(always)]
fn nearest(a: f32, b: f32) -> (f32, u32) {
    let biased = fma(a, b, ROUND);
    (biased - ROUND, biased.to_bits())
}

/// Returns √`x` for a normal `x`, and 0 for 0. A negative `x` gives NaN.
#[inline(always)]
fn sqrt(x: f32) -> f32 {
    // 2⁻¹²⁴ keeps the reciprocal root of 0 finite. All callers pass 0 or at least 2⁻⁹⁸.
    let inverse = super::hardware::reciprocal_sqrt(x + 4.701_977_4e-38);
    let root = super::hardware::product(x, inverse);
    fma(fma(-root, root, x), 0.5 * inverse, root)
}

/// Replaces the sign of `x`, which is positive, with the sign of `sign`.
#[inline(always)]
fn with_sign(x: f32, sign: f32) -> f32 {
    f32::from_bits(x.to_bits() | sign.to_bits() & 0x8000_0000)
}
