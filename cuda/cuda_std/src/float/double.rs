//! The mathematical functions of an `f64`, within 2 ULP.
//!
//! The structure is that of [`single`](super::single): a reduction of the argument, and a polynomial
//! whose coefficients `cuda/accuracy/minimax.py` computes. The special function unit has only two
//! approximations for an `f64`, which Newton's method refines. Functions that are not here, such as
//! the gamma function, come from the crate `libm`.
#![cfg_attr(
    not(any(target_arch = "nvptx64", test)),
    allow(dead_code, unused_imports, reason = "on the CPU, `GpuFloat` calls the standard library")
)]

#[path = "common/mod.rs"]
mod common;
mod exp;
mod log;
mod reduce_large;
mod root;
mod sinh;
mod sums;
mod terms;
#[cfg(test)]
mod tests;

pub(crate) use common::*;
pub(crate) use exp::{exp, exp_m1, exp2};
pub(crate) use log::{ln, ln_1p, log2, log10};
pub(crate) use root::{cbrt, rcbrt};
pub(crate) use sinh::{atanh, cosh, sinh};

use super::GpuFloat;
use super::hardware::{product_f64 as product, reciprocal_f64, reciprocal_sqrt_f64};
use core::f64::consts;

/// The type of the functions.
type Float = f64;

/// 1.5·2⁵². The sum with a small number is a float whose last bits are the nearest integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Returns the integer next to `a * b`, which is within ±2³¹, as a float and as an integer.
#[inline(always)]
fn nearest(a: f64, b: f64) -> (f64, i32) {
    let biased = fma(a, b, ROUND);
    (biased - ROUND, biased.to_bits() as i32)
}

/// Returns 1/`x` within 1 ULP, if both are normal numbers.
#[inline(always)]
fn reciprocal(x: f64) -> f64 {
    let about = reciprocal_f64(x);
    // 1/(1 − e) = 1 + e + e² + …, for an error e of 2⁻²⁰.
    let error = fma(-x, about, 1.0);
    let about = fma(about, fma(error, error, error), about);
    fma(about, fma(-x, about, 1.0), about)
}

/// Returns `x / y` as a sum of the result within 1 ULP and its error, if all numbers are normal.
#[inline(always)]
fn quotient(x: f64, y: f64) -> (f64, f64) {
    let inverse = reciprocal(y);
    let about = product(x, inverse);
    (about, inverse * fma(-about, y, x))
}

/// Returns `x / y` within 1 ULP, if all numbers are normal.
#[inline(always)]
fn ratio(x: f64, y: f64) -> f64 {
    let (about, rest) = quotient(x, y);
    about + rest
}

/// Returns √`x` for a normal `x`, and 0 for 0. A negative `x` gives NaN.
#[inline(always)]
fn sqrt(x: f64) -> f64 {
    // 2⁻¹⁰⁰⁰ keeps the reciprocal root of 0 finite. All callers pass 0 or at least 2⁻⁸⁰⁰.
    let about = reciprocal_sqrt_f64(x + 9.332_636_185_032_189e-302);
    // 1/√(1 − e) = 1 + e/2 + 3e²/8 + …, for an error e of 2⁻¹⁹.
    let error = fma(-product(x, about), about, 1.0);
    let inverse = fma(about * error, fma(0.375, error, 0.5), about);
    let root = product(x, inverse);
    fma(fma(-root, root, x), 0.5 * inverse, root)
}

/// Replaces the sign of `x`, which is positive, with the sign of `sign`.
#[inline(always)]
fn with_sign(x: f64, sign: f64) -> f64 {
    GpuFloat::copysign(x, sign)
}

/// Returns 2^`n`, for an `n` of a normal number.
#[inline(always)]
fn power_of_2(n: i32) -> f64 {
    f64::from_bits(u64::from((n + 1023) as u32) << 52)
}

/// Returns the upper half of the bits of `x`: the sign, the exponent and 20 bits of the mantissa.
#[inline(always)]
fn upper(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32
}

/// Adds `exponent`, the upper half of a number's bits, to the exponent of `x`.
#[inline(always)]
fn scale(x: f64, exponent: u32) -> f64 {
    let bits = x.to_bits();
    let upper = ((bits >> 32) as u32).wrapping_add(exponent);
    f64::from_bits(u64::from(upper) << 32 | bits & 0xffff_ffff)
}

/// Flips the sign of `x` if the highest bit of `sign` is set.
#[inline(always)]
fn flip_sign(x: f64, sign: u32) -> f64 {
    f64::from_bits(x.to_bits() ^ u64::from(sign & 0x8000_0000) << 32)
}

/// The integer and the exponent of a positive number, which is the integer times 2^exponent. The
/// integer has 53 bits.
#[inline(always)]
fn split_integer(x: f64) -> (f64, i32) {
    let tiny = x < f64::MIN_POSITIVE;
    let normal = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let bits = (upper(normal) >> 20) as i32;
    (scale(normal, ((1075 - bits) << 20) as u32), bits - if tiny { 1129 } else { 1075 })
}
