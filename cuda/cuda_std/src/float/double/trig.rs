//! Sine, cosine and tangent, of angles in radians and in half turns.

use super::reduce::{Reduced, reduce};
use super::{GpuFloat, fma, nearest, polynomial, reciprocal};

/// sin x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py sin_f64`.
const SIN: [f64; 6] = [
    -0.166_666_666_666_666_27,
    0.008_333_333_333_321_069,
    -0.000_198_412_698_286_973_3,
    2.755_731_329_781_925_5e-6,
    -2.505_069_526_866_058_3e-8,
    1.589_309_589_351_373e-10,
];

/// cos x = 1 + x²·P(x²) for |x| ≤ π/4, from `minimax.py cos_f64`.
const COS: [f64; 7] = [
    -0.5,
    0.041_666_666_666_666_58,
    -0.001_388_888_888_887_103,
    2.480_158_728_759_358_2e-5,
    -2.755_731_381_645_236_3e-7,
    2.087_565_148_535_291_6e-9,
    -1.135_597_540_605_063_2e-11,
];

/// tan x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py tan_f64`.
const TAN: [f64; 15] = [
    0.333_333_333_333_334,
    0.133_333_333_333_227_97,
    0.053_968_253_974_267_7,
    0.021_869_488_362_343_214,
    0.008_863_238_515_744_361,
    0.003_592_094_727_169_15,
    0.001_456_089_016_242_079_3,
    0.000_588_648_716_114_029_6,
    0.000_244_517_627_871_696_6,
    8.160_401_539_197_655e-5,
    7.077_246_232_253_193e-5,
    -3.011_424_114_220_088e-5,
    5.236_811_760_437_675_5e-5,
    -2.611_863_595_426_159_6e-5,
    1.020_869_011_676_057_2e-5,
];

/// π as a sum of two f64.
const PI: (f64, f64) = (core::f64::consts::PI, 1.224_646_799_147_353_2e-16);

/// Returns the sine of the angle plus `turn` quarter turns.
#[inline(always)]
fn sine(angle: Reduced, turn: u32) -> f64 {
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
fn flip_sign(x: f64, sign: u32) -> f64 {
    f64::from_bits(x.to_bits() ^ u64::from(sign & 0x8000_0000) << 32)
}

/// Returns the sine of `x` radians.
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    flip_sign(sine(reduce(x.abs()), 0), super::upper(x))
}

/// Returns the cosine of `x` radians.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    sine(reduce(x.abs()), 1)
}

/// Returns the sine and the cosine of `x` radians.
#[inline(always)]
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    let angle = reduce(x.abs());
    (flip_sign(sine(angle, 0), super::upper(x)), sine(angle, 1))
}

/// Returns the tangent of `x` radians.
#[inline(always)]
pub(crate) fn tan(x: f64) -> f64 {
    let Reduced { quarter_turns, hi, lo } = reduce(x.abs());
    let square = hi * hi;
    // tan(hi + lo) is tan(hi) + lo·(1 + tan²(hi)), as a sum of `hi` and `rest`.
    let rest = square * hi * polynomial(&TAN, square);
    let about = hi + rest;
    let rest = rest + fma(lo * about, about, lo);
    let tan = hi + rest;
    // −1/tan, corrected for the rounding error of `tan`.
    let inverse = -reciprocal(tan);
    let error = fma(inverse, (hi - tan) + rest, fma(inverse, tan, 1.0));
    let cot = fma(inverse, error, inverse);
    flip_sign(if quarter_turns & 1 == 0 { tan } else { cot }, super::upper(x))
}

/// Reduces an angle of `x` half turns, which is not negative.
#[inline(always)]
fn reduce_half_turns(x: f64) -> Reduced {
    // The difference of `x` and an even integer is exact, and at most 1. For infinity it is NaN.
    let x = fma(-2.0, GpuFloat::round_ties_even(0.5 * x), x);
    let (n, quarter_turns) = nearest(2.0, x);
    let rest = fma(-0.5, n, x);
    // The sum with −0 changes nothing.
    let hi = fma(rest, PI.0, rest * PI.1);
    Reduced { quarter_turns: quarter_turns as u32, hi, lo: -0.0 }
}

/// Returns the sine of `x` half turns. The sum with 0 turns −0 into 0.
#[inline(always)]
pub(crate) fn sinpi(x: f64) -> f64 {
    flip_sign(sine(reduce_half_turns(x.abs()), 0) + 0.0, super::upper(x))
}

/// Returns the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn cospi(x: f64) -> f64 {
    sine(reduce_half_turns(x.abs()), 1) + 0.0
}

/// Returns the sine and the cosine of `x` half turns.
#[inline(always)]
pub(crate) fn sincospi(x: f64) -> (f64, f64) {
    let angle = reduce_half_turns(x.abs());
    (flip_sign(sine(angle, 0) + 0.0, super::upper(x)), sine(angle, 1) + 0.0)
}
