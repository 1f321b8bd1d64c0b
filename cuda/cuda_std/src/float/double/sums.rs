//! Logarithms and powers of 2 of unevaluated sums of two floats.

use super::exp::{exp2_in_range, limit};
use super::log::split;
use super::{fma, polynomial, product, reciprocal};

/// ln((1 + s)/(1 − s)) = 2s + s³·(2/3 + s²·P(s²)) for |s| ≤ 3 − √8, from `minimax.py pow_f64`.
const POW: [f64; 7] = [
    0.400_000_000_000_022_7,
    0.285_714_285_700_912_06,
    0.222_222_225_214_862_43,
    0.181_817_842_248_360_5,
    0.153_867_641_152_124,
    0.132_566_548_045_596_92,
    0.131_978_851_821_105_33,
];

/// 2/3 as a sum of two f64.
const TWO_THIRDS: (f64, f64) = (2.0 / 3.0, 3.700_743_415_417_188e-17);

/// log2(e) as a sum of two f64.
const LOG2_E: (f64, f64) = (core::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17);

/// Returns log2 of a positive finite number as a sum of two f64.
#[inline(always)]
pub(super) fn log2_as_sum(x: f64) -> (f64, f64) {
    let (f, e) = split(x);
    // s + s_lo = f/(2 + f). `under` has a rounding error, which the residual contains.
    let under = 2.0 + f;
    let under_lo = (2.0 - under) + f;
    let inverse = reciprocal(under);
    let s = product(f, inverse);
    let s_lo = inverse * fma(-s, under_lo, fma(-s, under, f));
    let square = product(s, s);
    let square_lo = fma(s, s, -square) + 2.0 * s * s_lo;
    // 2/3 + s²·P as a sum, and its product with s³.
    let rest = square * polynomial(&POW, square);
    let factor = TWO_THIRDS.0 + rest;
    let factor_lo = ((TWO_THIRDS.0 - factor) + rest) + TWO_THIRDS.1;
    let cube = product(s, square);
    let cube_lo = fma(s, square, -cube) + fma(s, square_lo, s_lo * square);
    let term = product(cube, factor);
    let term_lo = fma(cube, factor, -term) + fma(cube, factor_lo, cube_lo * factor);
    // ln m = 2s + term, which is smaller.
    let (twice, twice_lo) = (2.0 * s, 2.0 * s_lo);
    let ln = twice + term;
    let ln_lo = ((twice - ln) + term) + (twice_lo + term_lo);

    let hi = product(ln, LOG2_E.0);
    let lo = fma(ln_lo, LOG2_E.0, fma(ln, LOG2_E.1, fma(ln, LOG2_E.0, -hi)));
    // If e is not 0, it is larger than `hi`.
    let sum = e + hi;
    (sum, ((e - sum) + hi) + lo)
}

/// Returns 2 to the power `hi + lo`, where `lo` is a rounding error of `hi`.
#[inline(always)]
pub(super) fn exp2_of_sum(hi: f64, lo: f64) -> f64 {
    // Beyond this range, the result is 0 or infinite, and `lo` may be large, so it is ignored.
    let lo = if hi.abs() < 1100.0 { lo } else { 0.0 };
    exp2_in_range(limit(hi, -1080.0, 1025.0), lo)
}
