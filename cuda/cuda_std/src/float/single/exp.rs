//! Exponential functions.

use super::super::hardware;
use super::{ROUND, fma, polynomial, product};

/// log2(e) as a sum of two f32.
pub(super) const LOG2_E: (f32, f32) = (core::f32::consts::LOG2_E, 1.925_963e-8);

/// ln 2 as a sum of two f32.
pub(super) const LN_2: (f32, f32) = (core::f32::consts::LN_2, -1.904_654_2e-9);

/// e^x − 1 = x + x²·P(x) for |x| ≤ 1/2, from `minimax.py expm1`.
const EXPM1: [f32; 6] =
    [0.500_000_06, 0.166_666_67, 0.041_664_965, 0.008_333_196, 0.001_401_045, 0.000_199_547_39];

/// e^x = 1 + x + x²·P(x), with the coefficients of [`EXPM1`].
const EXP: [f32; 8] = [1.0, 1.0, EXPM1[0], EXPM1[1], EXPM1[2], EXPM1[3], EXPM1[4], EXPM1[5]];

/// Returns the integer next to `x / ln 2`, and 2 to its power times 2^`SHIFT`, which must be a normal
/// number.
#[inline(always)]
pub(super) fn split<const SHIFT: i32>(x: f32) -> (f32, f32) {
    let bias = ROUND + (127 + SHIFT) as f32;
    let biased = fma(x, LOG2_E.0, bias);
    (biased - bias, power(biased))
}

/// Returns 2^n for a float that is [`ROUND`] plus 127 plus n.
#[inline(always)]
fn power(biased: f32) -> f32 {
    f32::from_bits(biased.to_bits() << 23)
}

/// Returns e to the power `x`.
///
/// The special function unit is most accurate for a fraction in [0, 1), so the integer part of the
/// exponent is rounded down. For an `x` outside the range of the result, the integer part is at the
/// end of its range, and the fraction is large.
#[expect(clippy::manual_clamp, reason = "`clamp` keeps NaN, which takes more instructions")]
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let biased = hardware::fma_down(x.max(-87.3).min(88.5), LOG2_E.0, ROUND + 127.0);
    let n = biased - (ROUND + 127.0);
    let fraction = fma(x, LOG2_E.1, fma(x, LOG2_E.0, -n));
    hardware::exp2_ftz(fraction) * power(biased)
}

/// Returns 2 to the power `x`, in the same way as [`exp`].
#[expect(clippy::manual_clamp, reason = "`clamp` keeps NaN, which takes more instructions")]
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let biased = hardware::fma_down(x.max(-126.0).min(127.0), 1.0, ROUND + 127.0);
    let n = biased - (ROUND + 127.0);
    hardware::exp2_ftz(x - n) * power(biased)
}

/// Returns e^`x` / 4 for an `x` that is not negative, within 1 ULP: without the special function
/// unit.
#[inline(always)]
pub(super) fn quarter_exp(x: f32) -> f32 {
    // For a larger `x`, the result is over 2¹²⁶. The rest is then large and positive, and so is the
    // polynomial.
    let (n, power) = split::<-2>(x.min(89.5));
    let rest = fma(-n, LN_2.1, fma(-n, LN_2.0, x));
    polynomial(&EXP, rest) * power
}

/// Returns e^x − 1 for |x| ≤ 1/2.
#[inline(always)]
pub(super) fn exp_m1_small(x: f32) -> f32 {
    fma(x * x, polynomial(&EXPM1, x), x)
}

/// Returns e to the power `x`, minus 1.
#[inline(always)]
pub(crate) fn exp_m1(x: f32) -> f32 {
    // Outside this range, the result is −1 or infinite. A comparison with NaN keeps it.
    let inside = if x > 89.0 { 89.0 } else { x };
    let inside = if inside < -64.0 { -64.0 } else { inside };
    // 2^n halved, so that it is a normal number for n = 128.
    let (n, power) = split::<-1>(inside);
    // Without a multiple of ln 2, the sum below does not cancel.
    let small = x.abs() < 0.48;
    let (n, power) = if small { (0.0, 0.5) } else { (n, power) };
    let rest = fma(-n, LN_2.1, fma(-n, LN_2.0, inside));
    let half = fma(power, exp_m1_small(rest), power - 0.5);
    let twice = half + half;
    // The sum 0.5·x + 0 loses the sign of −0 and the last bits of subnormal numbers.
    if x.abs() < 1e-10 { x } else { twice }
}

/// Returns 2 to the power `x`, which is negative.
#[inline(always)]
pub(super) fn exp2_of_negative(x: f32) -> f32 {
    hardware::exp2_ftz(x)
}

/// Returns e to the power 2`x`.
#[inline(always)]
pub(super) fn exp_of_twice(x: f32) -> f32 {
    hardware::exp2_ftz(x * (2.0 * LOG2_E.0))
}

/// ln 2 as a sum of two f32. The products of the first with integers up to 8 bits are exact.
const SHORT_LN_2: (f32, f32) = (0.693_145_75, 0.000_001_428_606_8);

/// Returns (`factor` + `rest`)·e^(−`x`²), where e^(−x²) = 2^n·(1 + p).
#[inline(always)]
pub(super) fn times_gauss(x: f32, factor: f32, rest: f32) -> f32 {
    let square = product(x, x);
    let square_rest = fma(x, x, -square);
    let (n, power) = split::<24>(-square);
    let p = exp_m1_small(fma(-n, SHORT_LN_2.0, -square));
    // The small part of the exponent multiplies the result by 1 plus itself.
    let rest = fma(rest, p, rest);
    let rest = fma(fma(factor, p, factor), -fma(n, SHORT_LN_2.1, square_rest), rest);
    (factor + fma(factor, p, rest)) * power * 5.960_464_5e-8
}
