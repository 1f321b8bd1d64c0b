//! Sine, cosine and tangent, of angles in radians and in half turns.

use super::super::hardware::reciprocal;
use super::reduce::{Reduced, reduce};
use super::{GpuFloat, fma, nearest, polynomial};

/// sin x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py sin`.
const SIN: [f32; 3] = [-0.166_666_54, 0.008_332_106, -0.000_195_078_57];

/// cos x = 1 + x²·P(x²) for |x| ≤ π/4, from `minimax.py cos`.
const COS: [f32; 4] = [-0.5, 0.041_666_646, -0.001_388_729_8, 0.000_024_430_08];

/// tan x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py tan`.
const TAN: [f32; 7] = [
    0.333_333_52,
    0.133_325_71,
    0.054_070_98,
    0.021_222_597,
    0.010_995_617,
    -0.000_118_916_294,
    0.004_481_674,
];

/// π as a sum of two f32.
const PI: (f32, f32) = (core::f32::consts::PI, -8.742_278e-8);

/// Returns the sine of the angle plus `turn` quarter turns.
#[inline(always)]
fn sine(angle: Reduced, turn: u32) -> f32 {
    let x = angle.hi + angle.lo;
    let square = x * x;
    let sin = fma(square * x, polynomial(&SIN, square), x);
    let cos = fma(square, polynomial(&COS, square), 1.0);
    let quadrant = angle.quarter_turns.wrapping_add(turn);
    let size = if quadrant & 1 == 0 { sin } else { cos };
    flip_sign(size, quadrant << 30)
}

/// Flips the sign of `x` if the highest bit of `sign` is set.
#[inline(always)]
fn flip_sign(x: f32, sign: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ sign & 0x8000_0000)
}

/// Returns the sine of `x` radians.
#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    flip_sign(sine(reduce(x.abs()), 0), x.to_bits())
}

/// Returns the cosine of `x` radians.
#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    sine(reduce(x.abs()), 1)
}

/// Returns the sine and the cosine of `x` radians.
#[inline(always)]
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    let angle = reduce(x.abs());
    (flip_sign(sine(angle, 0), x.to_bits()), sine(angle, 1))
}

/// Returns the tangent of `x` radians.
#[inline(always)]
pub(crate) fn tan(x: f32) -> f32 {
    let Reduced { quarter_turns, hi, lo } = reduce(x.abs());
    let square = hi * hi;
    // tan(hi + lo) is tan(hi) + lo·(1 + tan²(hi)), as a sum of `hi` and `rest`.
    let rest = square * hi * polynomial(&TAN, square);
    let about = hi + rest;
    let rest = rest + fma(lo * about, about, lo);
    let tan = hi + rest;
    // −1/tan, corrected for the error of the reciprocal and the rounding error of `tan`.
    let inverse = -reciprocal(tan);
    let error = fma(inverse, (hi - tan) + rest, fma(inverse, tan, 1.0));
    let cot = fma(inverse, error, inverse);
    flip_sign(if quarter_turns & 1 == 0 { tan } else { cot }, x.to_bits())
}

/// Reduces an angle of `x` half turns, which is not negative.
#[inline(always)]
fn reduce_half_turns(x: f32) -> Reduced {
    // The difference of `x` and an even integer is exact, and at most 1. For infinity it is NaN.
    let x = fma(-2.0, GpuFloat::round_ties_even(0.5 * x), x);
    let (n, quarter_turns) = nearest(2.0, x);
    let rest = fma(-0.5, n, x);
    Reduced { quarter_turns, hi: fma(rest, PI.0, rest * PI.1), lo: -0.0 }
}

/// Returns the sine of `x` half turns. The sum with 0 turns −0 into 0.
#[inline(always)]
pub(crate) fn sinpi(x: f32) -> f32 {
    flip_sign(sine(reduce_half_turns(x.abs()), 0) + 0.0, x.to_bits())
}

/// Returns the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn cospi(x: f32) -> f32 {
    sine(reduce_half_turns(x.abs()), 1) + 0.0
}

/// Returns the sine and the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn sincospi(x: f32) -> (f32, f32) {
    let angle = reduce_half_turns(x.abs());
    (flip_sign(sine(angle, 0) + 0.0, x.to_bits()), sine(angle, 1) + 0.0)
}
