//! Logarithms and powers of 2 of unevaluated sums of two floats.

use super::exp::LOG2_E;
use super::log::exponent;
use super::{ROUND, fma, polynomial, product, reciprocal};

/// 2·atanh(u/2) = u + u³·P(u²) for |u| ≤ 6 − √32, from `minimax.py pow`.
const LOG: [f32; 4] = [0.083_333_33, 0.012_500_303, 0.002_226_495_4, 0.000_474_025_64];

/// 2^x = 1 + x·P(x) for |x| ≤ 1/2, from `minimax.py exp2`.
const EXP2: [f32; 6] = [
    core::f32::consts::LN_2,
    0.240_226_5,
    0.055_503_59,
    0.009_618_068,
    0.001_339_139,
    0.000_154_604_26,
];

/// The bits of √½. The mantissa of a reduced number is in [√½, √2).
const ROOT: u32 = 0x3f35_04f3;

/// Returns log2 of a positive finite number as a sum of two f32.
#[inline(always)]
pub(super) fn log2_as_sum(x: f32) -> (f32, f32) {
    // All subnormal numbers have the same exponent bits, so they are multiplied by 2²³, which makes
    // them normal.
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 8_388_608.0 } else { x }.to_bits();
    let e = bits.wrapping_sub(ROOT) & 0xff80_0000;
    let m = f32::from_bits(bits.wrapping_sub(e));
    let e = exponent(e) - if tiny { 23.0 } else { 0.0 };

    // u + u_lo = 2(m - 1)/(m + 1). The division is approximate, so u_lo corrects it by its
    // residual, which is exact.
    let q = m - 1.0;
    let r = reciprocal(m + 1.0);
    let u = product(2.0 * q, r);
    let u_lo = r * fma(-u, q, 2.0 * (q - u));
    // u³·P(u²), also as a sum. The first coefficient and the product of the others are P.
    let square = product(u, u);
    let square_lo = fma(u, u, -square);
    let others = polynomial(&[LOG[1], LOG[2], LOG[3]], square);
    let factor = fma(square, others, LOG[0]);
    let factor_lo = fma(square, others, LOG[0] - factor);
    let cube = product(u, square);
    let cube_lo = fma(3.0 * square, u_lo, fma(u, square_lo, fma(u, square, -cube)));
    let term = product(cube, factor);
    let term_lo = fma(cube_lo, factor, fma(cube, factor_lo, fma(cube, factor, -term)));
    let ln = u + term;
    let ln_lo = ((u - ln) + term) + (u_lo + term_lo);

    // ln m·log2(e) + e.
    let hi = product(ln, LOG2_E.0);
    let lo = fma(ln_lo, LOG2_E.0, fma(ln, LOG2_E.1, fma(ln, LOG2_E.0, -hi)));
    let sum = e + hi;
    // If e is not 0, it is larger than `hi`, so this is the error of the sum.
    (sum, ((e - sum) + hi) + lo)
}

/// Returns 2 to the power `hi + lo`, where `lo` is a rounding error of `hi`. NaN gives a number.
#[expect(clippy::manual_clamp, reason = "`clamp` keeps NaN, which takes more instructions")]
#[inline(always)]
pub(super) fn exp2_of_sum(hi: f32, lo: f32) -> f32 {
    // Beyond ±160, the result is 0 or infinite, and `lo` may be large, so `lo` is ignored.
    let lo = if hi.abs() < 160.0 { lo } else { 0.0 };
    let hi = hi.max(-160.0).min(160.0);
    // The last bits of the sum are n + 254, where n is the integer next to `hi`.
    let biased = hi + (ROUND + 254.0);
    let f = (hi - (biased - (ROUND + 254.0))) + lo;
    let p = fma(polynomial(&EXP2, f), f, 1.0);
    // 2^n as two factors, because n may be outside the range of one exponent: each has half of the
    // sum as its exponent bits.
    let sum = biased.to_bits();
    let half = sum >> 1;
    p * f32::from_bits(half << 23) * f32::from_bits((sum - half) << 23)
}
