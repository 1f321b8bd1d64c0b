//! Sine, cosine and tangent, of angles in radians and in half turns.

use super::reduce::{Reduced, reduce};
use super::terms::{COS, PI, SIN, TAN};
use super::{Float, GpuFloat, flip_sign, fma, nearest, polynomial, reciprocal, upper};

/// Returns the sine of the angle plus `turn` quarter turns.
#[inline(always)]
fn sine(angle: Reduced, turn: u32) -> Float {
    let x = angle.hi + angle.lo;
    let square = x * x;
    let sin = fma(square * x, polynomial(&SIN, square), x);
    let cos = fma(square, polynomial(&COS, square), 1.0);
    let quadrant = angle.quarter_turns.wrapping_add(turn);
    let size = if quadrant & 1 == 0 { sin } else { cos };
    flip_sign(size, quadrant << 30)
}

/// Returns the sine of `x` radians.
#[inline(always)]
pub(crate) fn sin(x: Float) -> Float {
    flip_sign(sine(reduce(x.abs()), 0), upper(x))
}

/// Returns the cosine of `x` radians.
#[inline(always)]
pub(crate) fn cos(x: Float) -> Float {
    sine(reduce(x.abs()), 1)
}

/// Returns the sine and the cosine of `x` radians.
#[inline(always)]
pub(crate) fn sin_cos(x: Float) -> (Float, Float) {
    let angle = reduce(x.abs());
    (flip_sign(sine(angle, 0), upper(x)), sine(angle, 1))
}

/// Returns the tangent of `x` radians.
#[inline(always)]
pub(crate) fn tan(x: Float) -> Float {
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
    flip_sign(if quarter_turns & 1 == 0 { tan } else { cot }, upper(x))
}

/// Reduces an angle of `x` half turns, which is not negative.
#[inline(always)]
fn reduce_half_turns(x: Float) -> Reduced {
    // The difference of `x` and an even integer is exact, and at most 1. For infinity it is NaN.
    let x = fma(-2.0, GpuFloat::round_ties_even(0.5 * x), x);
    let (n, quarter_turns) = nearest(2.0, x);
    let rest = fma(-0.5, n, x);
    Reduced { quarter_turns: quarter_turns as u32, hi: fma(rest, PI.0, rest * PI.1), lo: -0.0 }
}

/// Returns the sine of `x` half turns. The sum with 0 turns −0 into 0.
#[inline(always)]
pub(crate) fn sinpi(x: Float) -> Float {
    flip_sign(sine(reduce_half_turns(x.abs()), 0) + 0.0, upper(x))
}

/// Returns the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn cospi(x: Float) -> Float {
    sine(reduce_half_turns(x.abs()), 1) + 0.0
}

/// Returns the sine and the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn sincospi(x: Float) -> (Float, Float) {
    let angle = reduce_half_turns(x.abs());
    (flip_sign(sine(angle, 0) + 0.0, upper(x)), sine(angle, 1) + 0.0)
}
