//! The error function and its complement.

use super::exp::{exp_m1_small, exp2_of_sum, limit, times_power};
use super::{fma, nearest, polynomial, product_f64, reciprocal, with_sign};

/// erf x = x + x·P(x²) for |x| ≤ 1, from `minimax.py erf_f64`.
const ERF: [f64; 12] = [
    0.128_379_167_095_512_56,
    -0.376_126_389_031_833_76,
    0.112_837_916_709_394_35,
    -0.026_866_170_642_465_444,
    0.005_223_977_601_464_466,
    -0.000_854_832_572_945_643_3,
    0.000_120_552_881_445_075_93,
    -1.492_461_640_807_541_9e-5,
    1.644_603_487_293_206_1e-6,
    -1.619_847_343_271_242_5e-7,
    1.367_913_517_857_673_2e-8,
    -7.723_367_989_913_261e-10,
];

/// log2(erfc x) = x·P(x) for 1 ≤ x ≤ 6, from `minimax.py erfc_tail_f64`.
const ERFC_TAIL: [f64; 21] = [
    -1.627_907_086_757_7,
    -0.918_447_516_387_214_2,
    -0.148_273_190_558_739_4,
    0.027_609_056_670_391_277,
    0.000_271_609_622_865_572_5,
    -0.002_392_736_147_341_364,
    0.000_775_429_742_347_361_1,
    4.679_590_243_695_614e-5,
    -0.000_167_914_389_145_911_78,
    9.663_036_526_044_76e-5,
    -3.584_082_928_363_895_4e-5,
    9.824_695_213_485_355e-6,
    -2.041_698_259_722_903_7e-6,
    3.136_425_529_286_825_7e-7,
    -3.207_748_950_361_946e-8,
    1.242_410_816_606_191_5e-9,
    2.242_198_550_090_204_8e-10,
    -4.849_322_271_235_748_5e-11,
    4.598_254_021_295_222e-12,
    -2.349_220_698_357_929e-13,
    5.253_428_619_898_532e-15,
];

/// (1 + 2x)·e^(x²)·erfc(x) = 1.25 + P((x − 4)/(x + 4)) for 0 ≤ x ≤ 28, from
/// `minimax.py erfc_scaled_f64`.
const ERFC_SCALED: [f64; 23] = [
    -0.017_004_881_374_447_49,
    -0.139_621_116_840_562_86,
    0.015_379_652_102_619_852,
    0.068_097_054_254_734_32,
    -0.101_039_066_036_307_04,
    0.093_732_834_996_884_69,
    -0.066_330_365_812_435_61,
    0.037_167_515_561_092_275,
    -0.016_197_734_049_828_074,
    0.005_031_969_768_745_13,
    -0.000_757_773_395_911_696_1,
    -0.000_199_255_581_814_273_32,
    0.000_150_622_436_190_712_48,
    -2.440_289_343_443_789_7e-5,
    -1.122_519_503_502_931_9e-5,
    5.717_233_013_325_67e-6,
    3.018_220_840_721_736e-7,
    -8.342_068_998_464_061e-7,
    6.250_490_375_962_96e-8,
    1.145_694_199_214_642e-7,
    -7.823_816_288_195_433e-9,
    -1.339_856_030_208_999e-8,
    -1.715_399_220_439_987_8e-9,
];

/// ln 2 as a sum of two f64. The products of the first with integers up to 20 bits are exact.
const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);

/// Returns the error function of `x` in 0..=1.
#[inline(always)]
fn erf_small(x: f64) -> f64 {
    fma(x, polynomial(&ERF, x * x), x)
}

/// Returns the error function of `x`.
#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    let size = x.abs();
    let small = erf_small(size);
    // From 6 on, the result rounds to 1. A comparison with NaN keeps it.
    let inside = if size > 6.0 { 6.0 } else { size };
    let large = 1.0 - exp2_of_sum(inside * polynomial(&ERFC_TAIL, inside), 0.0);
    with_sign(if size < 1.0 { small } else { large }, x)
}

/// Returns 1 minus the error function of `x`.
///
/// The quotient of a polynomial and 1 + 2x is multiplied by e^(−x²). Both factors are sums of a
/// large and a small part, because the errors of all operations together would exceed 2 ULP.
#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    // From 27.3 on, the result rounds to 0. A comparison with NaN keeps it.
    let size = limit(x.abs(), 0.0, 27.5);

    let inverse = reciprocal(size + 4.0);
    let about = product_f64(size - 4.0, inverse);
    // The residual does not contain the rounding errors of x − 4 and x + 4.
    let residual = fma(-about, size, fma(-4.0, about + 1.0, size));
    let t = fma(inverse, residual, about);
    let small = polynomial(&ERFC_SCALED, t);
    let over = 1.25 + small;
    let over_rest = (1.25 - over) + small;
    let under = fma(2.0, size, 1.0);
    let under_rest = fma(2.0, size, 1.0 - under);
    let inverse = reciprocal(under);
    let ratio = product_f64(over, inverse);
    let rest = fma(-ratio, under, over);
    let rest = inverse * (fma(-ratio, under_rest, rest) + over_rest);

    // e^(−x²) = 2^n·(1 + p).
    let square = product_f64(size, size);
    let square_rest = fma(size, size, -square);
    let (n, power) = nearest(square, -core::f64::consts::LOG2_E);
    let p = exp_m1_small(fma(-n, LN_2.0, -square));
    // The small part of the exponent is under 2⁻²², so it multiplies the result by 1 plus this.
    let small = -fma(n, LN_2.1, square_rest);
    let small = fma(0.5 * small, small, small);
    let rest = fma(fma(ratio, p, ratio), small, fma(rest, p, rest));
    let result = times_power(ratio + fma(ratio, p, rest), power);
    let result = if x < 0.0 { 2.0 - result } else { result };
    // Here the quotient changes too much with the rounding error of its argument.
    if size < 0.47 { 1.0 - with_sign(erf_small(size), x) } else { result }
}
