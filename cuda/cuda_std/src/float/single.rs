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
use super::hardware::{product, reciprocal, reciprocal_sqrt};
use core::f32::consts;

/// The type of the functions.
type Float = f32;

/// 1.5·2²³. The sum with a small number is a float whose last bits are the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// Returns the integer next to `a * b`, which is within ±2²¹, as a float and as the last bits of an
/// integer.
#[inline(always)]
fn nearest(a: f32, b: f32) -> (f32, i32) {
    let biased = fma(a, b, ROUND);
    (biased - ROUND, biased.to_bits() as i32)
}

/// Returns √`x` for a normal `x`, and 0 for 0. A negative `x` gives NaN.
#[inline(always)]
fn sqrt(x: f32) -> f32 {
    // 2⁻¹²⁴ keeps the reciprocal root of 0 finite. All callers pass 0 or at least 2⁻⁹⁸.
    let inverse = reciprocal_sqrt(x + 4.701_977_4e-38);
    let root = product(x, inverse);
    fma(fma(-root, root, x), 0.5 * inverse, root)
}

/// Replaces the sign of `x`, which is positive, with the sign of `sign`.
#[inline(always)]
fn with_sign(x: f32, sign: f32) -> f32 {
    f32::from_bits(x.to_bits() | sign.to_bits() & 0x8000_0000)
}

/// Returns `x / y`, if all numbers are normal.
#[inline(always)]
fn ratio(x: f32, y: f32) -> f32 {
    let inverse = reciprocal(y);
    let about = product(x, inverse);
    fma(fma(-about, y, x), inverse, about)
}

/// Returns the bits of `x`, whose highest is the sign.
#[inline(always)]
fn upper(x: f32) -> u32 {
    x.to_bits()
}

/// Adds `exponent`, the exponent bits of a number, to the exponent of `x`.
#[inline(always)]
fn scale(x: f32, exponent: u32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add(exponent))
}

/// Flips the sign of `x` if the highest bit of `sign` is set.
#[inline(always)]
fn flip_sign(x: f32, sign: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ sign & 0x8000_0000)
}

/// The integer and the exponent of a positive number, which is the integer times 2^exponent. The
/// integer has 24 bits.
#[inline(always)]
fn split_integer(x: f32) -> (f32, i32) {
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
