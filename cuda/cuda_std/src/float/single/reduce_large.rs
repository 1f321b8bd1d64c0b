//! Reduction of a large angle to the nearest multiple of π/2.

use super::{Reduced, fma, product};

/// π/2 · 2⁻⁶⁴ as a sum of two f32.
const SCALED: (f32, f32) = (8.515_304e-20, -2.369_599e-27);

/// 32 zero bits, and then the first 224 binary digits of 2/π.
static FRAC_2_PI: [u32; 8] =
    [0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];

/// Multiplies `x`, which is at least 2¹⁶, by the digits of 2/π that matter (Payne and Hanek 1983).
///
/// `x` is an integer of 24 bits times 2^e. Digits of 2/π before number e − 1 only add multiples of
/// 4 quarter turns. The 96 digits from there on give the quarter turns modulo 4 in units of 2⁻⁹⁴.
pub(super) fn reduce_large(x: f32) -> Reduced {
    let bits = x.to_bits();
    let mantissa = u64::from(bits & 0x007f_ffff | 0x0080_0000);
    // The exponent bits are 150 + e. The number of the first digit is counted with the 32 zeros of
    // the table, from 0. It is between 23 and 135.
    let first = (bits >> 23) - 120;
    let at = (first >> 5) as usize;
    let window = |i: usize| {
        let pair = u64::from(table(at + i)) << 32 | u64::from(table(at + i + 1));
        (pair << (first & 31)) >> 32
    };
    let low = mantissa * window(2);
    let middle = mantissa * window(1) + (low >> 32);
    let high = mantissa * window(0) + (middle >> 32);
    // Two bits of whole quarter turns and 62 bits of the fraction.
    let turns = high << 32 | middle & 0xffff_ffff;
    // The fraction as a signed number in units of 2⁻⁶⁴ quarter turns, and the nearest integer.
    let fraction = (turns << 2) as i64;
    let quarter_turns = ((turns >> 62) as u32).wrapping_add((fraction < 0).into());

    let top = fraction as f32;
    // SAFETY: `top` is within ±2⁶³. If it is 2⁶³, the conversion of the GPU gives 2⁶³ − 1, and that
    // of x86 gives −2⁶³: the subtraction wraps to the same small number in both cases.
    let rest = fraction.wrapping_sub(top as i64) as f32;
    let hi = product(top, SCALED.0);
    let lo = fma(rest, SCALED.0, fma(top, SCALED.1, fma(top, SCALED.0, -hi)));
    let hi = if x < f32::INFINITY { hi } else { f32::NAN };
    Reduced { quarter_turns, hi, lo }
}

#[inline(always)]
fn table(at: usize) -> u32 {
    // SAFETY: `at` is at most 135 / 32 + 3 = 7.
    unsafe { *FRAC_2_PI.get_unchecked(at) }
}
