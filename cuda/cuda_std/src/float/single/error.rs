//! The error function and its complement.

use super::super::hardware::{exp2_ftz, product, reciprocal};
use super::exp::{exp_m1_small, split};
use super::{fma, polynomial, with_sign};

/// erf x = x + x·P(x²) for |x| ≤ 1, from `minimax.py erf`.
const ERF: [f32; 7] = [
    0.128_379_17,
    -0.376_126_26,
    0.112_835_81,
    -0.026_853_545,
    0.005_187_731,
    -0.000_800_448_06,
    0.000_078_339_51,
];

/// log2(erfc x) = x·P(x) for 1 ≤ x ≤ 4, from `minimax.py erfc_tail`.
const ERFC_TAIL: [f32; 9] = [
    -1.628_065_5,
    -0.917_522_85,
    -0.150_638_52,
    0.031_074_073,
    -0.002_891_061_8,
    -0.000_608_737_35,
    0.000_276_752_17,
    -0.000_043_572_843,
    0.000_002_684_957_5,
];

/// (1 + 2x)·e^(x²)·erfc(x) = 1.25 + P((x − 4)/(x + 4)) for 0 ≤ x ≤ 10.1, from
/// `minimax.py erfc_scaled`.
const ERFC_SCALED: [f32; 12] = [
    -0.017_004_881,
    -0.139_621_12,
    0.015_379_626,
    0.068_097_636,
    -0.101_037_93,
    0.093_722_96,
    -0.066_352_66,
    0.037_217_475,
    -0.016_032_606,
    0.005_043_561,
    -0.001_129_893,
    -0.000_638_849_2,
];

/// Returns the error function of `x` in 0..=1.
#[inline(always)]
fn erf_small(x: f32) -> f32 {
    fma(x, polynomial(&ERF, x * x), x)
}

/// Returns the error function of `x`.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let size = x.abs();
    let small = erf_small(size);
    // From 4 on, the result rounds to 1. A comparison with NaN keeps it.
    let inside = if size > 4.0 { 4.0 } else { size };
    let large = 1.0 - exp2_ftz(inside * polynomial(&ERFC_TAIL, inside));
    with_sign(if size < 1.0 { small } else { large }, x)
}

/// Returns 1 minus the error function of `x`.
///
/// The quotient of a polynomial and 1 + 2x is multiplied by e^(−x²). Both factors are sums of a
/// large and a small part, because the errors of all operations together would exceed 2 ULP.
#[inline(always)]
pub(crate) fn erfc(x: f32) -> f32 {
    // From 10.06 on, the result rounds to 0. A comparison with NaN keeps it.
    let size = x.abs();
    let size = if size > 10.1 { 10.1 } else { size };

    let inverse = reciprocal(size + 4.0);
    let about = product(size - 4.0, inverse);
    // The residual does not contain the rounding errors of x − 4 and x + 4.
    let residual = fma(-about, size, fma(-4.0, about + 1.0, size));
    let t = fma(inverse, residual, about);
    let small = polynomial(&ERFC_SCALED, t);
    let over = 1.25 + small;
    let over_rest = (1.25 - over) + small;
    let under = fma(2.0, size, 1.0);
    let under_rest = fma(2.0, size, 1.0 - under);
    let inverse = reciprocal(under);
    let quotient = product(over, inverse);
    let rest = fma(-quotient, under, over);
    let rest = inverse * (fma(-quotient, under_rest, rest) + over_rest);

    // e^(−x²) = 2^n·(1 + p).
    let square = product(size, size);
    let square_rest = fma(size, size, -square);
    let (n, power) = split::<24>(-square);
    let p = exp_m1_small(fma(-n, LN_2.0, -square));
    // The small part of the exponent multiplies the result by 1 plus itself.
    let rest = fma(rest, p, rest);
    let rest = fma(fma(quotient, p, quotient), -fma(n, LN_2.1, square_rest), rest);
    let result = (quotient + fma(quotient, p, rest)) * power * 5.960_464_5e-8;
    let result = if x < 0.0 { 2.0 - result } else { result };
    // Here the quotient changes too much with the rounding error of its argument.
    if size < 0.47 { 1.0 - with_sign(erf_small(size), x) } else { result }
}

/// ln 2 as a sum of two f32. The products of the first with integers up to 8 bits are exact.
const LN_2: (f32, f32) = (0.693_145_75, 0.000_001_428_606_8);
