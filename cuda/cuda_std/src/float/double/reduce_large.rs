//! Reduction of a large angle to the nearest multiple of π/2.

use super::{Reduced, fma, product};

/// π/2 · 2⁻¹²⁸ as a sum of two f64.
const SCALED: (f64, f64) = (4.616_155_521_099_502e-39, 1.799_456_742_687_888e-55);

/// 64 zero bits, and then the first 1216 binary digits of 2/π.
static FRAC_2_PI: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Multiplies `x`, which is at least 2³⁰, by the digits of 2/π that matter (Payne and Hanek 1983).
///
/// `x` is an integer of 53 bits times 2^e. Digits of 2/π before number e − 1 only add multiples of
/// 4 quarter turns. The 192 digits from there on give the quarter turns modulo 4 in units of 2⁻¹⁹⁰,
/// of which the code keeps those of 2⁻¹²⁶.
#[inline(always)]
pub(super) fn reduce_large(x: f64) -> Reduced {
    let bits = x.to_bits();
    let mantissa = bits & 0x000f_ffff_ffff_ffff | 0x0010_0000_0000_0000;
    // The exponent bits are 1075 + e. The number of the first digit is counted with the 64 zeros of
    // the table, from 0. It is between 40 and 1034.
    let first = (bits >> 52) as u32 - 1013;
    let at = (first >> 6) as usize;
    let shift = first & 63;
    // The shift by 63 − n and 1 more is valid for n = 0.
    let window = |i: usize| table(at + i) << shift | table(at + i + 1) >> 1 >> (63 - shift);
    let wide = |digits: u64| u128::from(mantissa) * u128::from(digits);
    let middle = wide(window(1)) + (wide(window(2)) >> 64);
    let high = mantissa.wrapping_mul(window(0)).wrapping_add((middle >> 64) as u64);
    // Two bits of whole quarter turns and 126 bits of the fraction.
    let turns = u128::from(high) << 64 | u128::from(middle as u64);
    let fraction = turns << 2;
    // The nearest integer, and the distance from it in units of 2⁻¹²⁸ quarter turns.
    let is_above = (fraction >> 127) as u32 != 0;
    let quarter_turns = ((high >> 62) as u32).wrapping_add(is_above.into());
    let size = if is_above { fraction.wrapping_neg() } else { fraction };

    let (upper, lower) = ((size >> 64) as u64, size as u64);
    let top = upper as f64;
    // SAFETY: `top` is at most 2⁶³.
    let rest = upper.wrapping_sub(unsafe { top.to_int_unchecked() }) as i64 as f64;
    let top = top * 18_446_744_073_709_551_616.0;
    let rest = fma(rest, 18_446_744_073_709_551_616.0, lower as f64);
    let (top, rest) = (top + rest, (top - (top + rest)) + rest);
    let hi = product(top, SCALED.0);
    let lo = fma(rest, SCALED.0, fma(top, SCALED.1, fma(top, SCALED.0, -hi)));
    let (hi, lo) = if is_above { (-hi, -lo) } else { (hi, lo) };
    let hi = if x < f64::INFINITY { hi } else { f64::NAN };
    Reduced { quarter_turns, hi, lo }
}

#[inline(always)]
fn table(at: usize) -> u64 {
    // SAFETY: `at` is at most 1034 / 64 + 3 = 19.
    unsafe { *FRAC_2_PI.get_unchecked(at) }
}
