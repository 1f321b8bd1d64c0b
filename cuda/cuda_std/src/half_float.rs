//! 16-bit floats: conversions and arithmetic with the GPU's instructions.
//!
//! The types come from the crate `half`. The operators of that crate take many instructions on a
//! GPU: each operator widens both numbers bit by bit and rounds the result. In this module, an
//! operation is one instruction, and the CPU returns the same bits. A GPU before `sm_80` has no
//! arithmetic on [`bf16`] and converts one number at a time. The functions also work on such a GPU,
//! with more instructions.

use half::{bf16, f16};

/// Conversions between a 16-bit float and `f32`.
pub trait GpuHalf: Copy {
    /// Returns the same number as an `f32`.
    fn widen(self) -> f32;

    /// Converts two numbers at once, rounding to nearest with ties to even. A NaN becomes `0x7fff`.
    fn narrow_pair(low: f32, high: f32) -> [Self; 2];
}

/// Arithmetic on a 16-bit float or a pair of them, with one GPU instruction per operation.
///
/// Every operation rounds once, to nearest with ties to even. Subnormals are not flushed to zero. A
/// NaN result is `0x7fff`. All operations are `a * b + c`, because GPUs before `sm_90` have no other
/// arithmetic instruction for [`bf16`]: `a * 1 + b` is `a + b`, and `a * b + (-0)` is `a * b`,
/// including the sign of zero.
///
/// ```
/// use cuda_std::{HalfArithmetic, f16};
///
/// let [a, b, c] = [1.5, 2.0, 0.25].map(f16::from_f32);
/// assert_eq!(HalfArithmetic::mul_add(a, b, c), f16::from_f32(3.25));
/// // One instruction computes both elements of a pair.
/// assert_eq!(HalfArithmetic::add([a, b], [c, c]), [1.75, 2.25].map(f16::from_f32));
/// ```
pub trait HalfArithmetic: Copy {
    /// 1, −1 and −0.
    #[doc(hidden)]
    const FACTORS: [Self; 3];

    /// Returns `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// Returns `self + other`.
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.mul_add(Self::FACTORS[0], other)
    }

    /// Returns `self - other`.
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        other.mul_add(Self::FACTORS[1], self)
    }

    /// Returns `self * other`.
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.mul_add(other, Self::FACTORS[2])
    }
}

impl GpuHalf for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        return f32::from_bits(u32::from(self.to_bits()) << 16);
        #[cfg(not(target_arch = "nvptx64"))]
        self.to_f32()
    }

    #[inline(always)]
    fn narrow_pair(low: f32, high: f32) -> [Self; 2] {
        #[cfg(target_feature = "compute_80")]
        return unpacked(ptx!("cvt.rn.bf16x2.f32 {}, {}, {};" => reg32 u32, reg32 high, reg32 low))
            .map(Self::from_bits);
        #[cfg(not(target_feature = "compute_80"))]
        [low, high].map(narrow_bf16)
    }
}

impl GpuHalf for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        return ptx!("cvt.f32.f16 {}, {};" => reg32 f32, reg16 self.to_bits());
        #[cfg(not(target_arch = "nvptx64"))]
        self.to_f32()
    }

    #[inline(always)]
    fn narrow_pair(low: f32, high: f32) -> [Self; 2] {
        #[cfg(target_feature = "compute_80")]
        return unpacked(ptx!("cvt.rn.f16x2.f32 {}, {}, {};" => reg32 u32, reg32 high, reg32 low))
            .map(Self::from_bits);
        #[cfg(not(target_feature = "compute_80"))]
        [low, high].map(narrow_f16)
    }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn unpacked(pair: u32) -> [u16; 2] {
    [pair as u16, (pair >> 16) as u16]
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn packed([low, high]: [u16; 2]) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

#[cfg(not(target_feature = "compute_80"))]
#[inline]
fn narrow_bf16(value: f32) -> bf16 {
    if value.is_nan() { bf16::from_bits(0x7fff) } else { bf16::from_f32(value) }
}

#[cfg(not(target_feature = "compute_80"))]
#[inline(always)]
fn narrow_f16(value: f32) -> f16 {
    #[cfg(target_arch = "nvptx64")]
    return f16::from_bits(ptx!("cvt.rn.f16.f32 {}, {};" => reg16 u16, reg32 value));
    #[cfg(not(target_arch = "nvptx64"))]
    if value.is_nan() { f16::from_bits(0x7fff) } else { f16::from_f32(value) }
}

/// Implements arithmetic on a type and on its pairs with the operation `a * b + c`.
macro_rules! arithmetic {
    ($half:ident, $one:literal, |$a:ident, $b:ident, $c:ident| $mul_add:expr, $mul_add_pair:expr) => {
        impl HalfArithmetic for $half {
            const FACTORS: [Self; 3] =
                [Self::from_bits($one), Self::from_bits($one | 0x8000), Self::from_bits(0x8000)];

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                let ($a, $b, $c) = (self, a, b);
                $mul_add
            }
        }

        impl HalfArithmetic for [$half; 2] {
            const FACTORS: [Self; 3] = {
                let [one, minus_one, minus_zero] = <$half as HalfArithmetic>::FACTORS;
                [[one; 2], [minus_one; 2], [minus_zero; 2]]
            };

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                let ($a, $b, $c) = (self, a, b);
                $mul_add_pair
            }
        }
    };
}

#[cfg(target_arch = "nvptx64")]
arithmetic!(
    f16,
    0x3c00,
    |a, b, c| Self::from_bits(ptx!("fma.rn.f16 {}, {}, {}, {};" => reg16 u16,
            reg16 a.to_bits(), reg16 b.to_bits(), reg16 c.to_bits())),
    {
        let [a, b, c] = [a, b, c].map(|pair| packed(pair.map(f16::to_bits)));
        unpacked(ptx!("fma.rn.f16x2 {}, {}, {}, {};" => reg32 u32, reg32 a, reg32 b, reg32 c))
            .map(f16::from_bits)
    }
);
#[cfg(target_feature = "compute_80")]
arithmetic!(
    bf16,
    0x3f80,
    |a, b, c| Self::from_bits(ptx!("fma.rn.bf16 {}, {}, {}, {};" => reg16 u16,
            reg16 a.to_bits(), reg16 b.to_bits(), reg16 c.to_bits())),
    {
        let [a, b, c] = [a, b, c].map(|pair| packed(pair.map(bf16::to_bits)));
        unpacked(ptx!("fma.rn.bf16x2 {}, {}, {}, {};" => reg32 u32, reg32 a, reg32 b, reg32 c))
            .map(bf16::from_bits)
    }
);
#[cfg(not(target_arch = "nvptx64"))]
arithmetic!(
    f16,
    0x3c00,
    |a, b, c| narrow_f16(mul_add_to_odd(a.to_f64(), b.to_f64(), c.to_f64())),
    [a[0].mul_add(b[0], c[0]), a[1].mul_add(b[1], c[1])]
);
#[cfg(not(target_feature = "compute_80"))]
arithmetic!(
    bf16,
    0x3f80,
    |a, b, c| narrow_bf16(mul_add_to_odd(a.to_f64(), b.to_f64(), c.to_f64())),
    [a[0].mul_add(b[0], c[0]), a[1].mul_add(b[1], c[1])]
);

/// Returns `a * b + c`, rounded to odd, for numbers with at most 11 significant bits. Rounding to
/// odd rounds towards zero and then sets the last bit if the result is not exact.
///
/// Rounding the result to 16 bits gives the same number as rounding the exact sum, because the last
/// bit rules out a false tie.
#[cfg(not(target_feature = "compute_80"))]
fn mul_add_to_odd(a: f64, b: f64, c: f64) -> f32 {
    // The product has at most 22 bits, so it is exact.
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum as f32;
    }
    // Two-sum: `lost` is the exact rounding error of the sum.
    let rest = sum - product;
    let lost = (product - (sum - rest)) + (c - rest);
    let mut bits = sum.to_bits();
    if lost != 0.0 && bits & 1 == 0 {
        bits = if (lost > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 };
    }
    let sum = f64::from_bits(bits);
    let near = sum as f32;
    let toward_zero = near.to_bits() - u32::from(f64::from(near).abs() > sum.abs());
    f32::from_bits(toward_zero | u32::from(f64::from(near) != sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns special values and pseudorandom numbers, as bits.
    fn samples() -> Vec<u16> {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u16
        });
        let special = [0, 1, 2, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7f80, 0x7fff];
        special.into_iter().flat_map(|bits| [bits, bits | 0x8000]).chain(noise.take(160)).collect()
    }

    /// Returns `n / 2^48`, rounded to `digits` bits or to multiples of `2^-least`, whichever is
    /// coarser.
    fn rounded(n: i128, digits: u32, least: u32) -> f64 {
        let size = n.unsigned_abs();
        let quantum = (128 - size.leading_zeros()).saturating_sub(digits).max(48 - least);
        let (whole, part) = (size >> quantum, size & ((1 << quantum) - 1));
        let half = 1_u128 << quantum >> 1;
        let up = part > half || part == half && part != 0 && whole & 1 == 1;
        let result = (whole + u128::from(up)) as f64 * 2.0_f64.powi(quantum as i32 - 48);
        if n < 0 { -result } else { result }
    }

    #[test]
    fn f16_is_rounded_once() {
        let samples = samples();
        let fixed = |x: f16| (x.to_f64() * 16_777_216.0) as i128;
        let overflowed = |x: f64| if x.abs() > 65_504.0 { x.signum() * f64::INFINITY } else { x };
        let finite = |x: &f16| x.is_finite();
        for a in samples.iter().map(|&bits| f16::from_bits(bits)).filter(finite) {
            for b in samples.iter().map(|&bits| f16::from_bits(bits)).filter(finite) {
                let sum = overflowed(rounded((fixed(a) + fixed(b)) << 24, 11, 24));
                assert_eq!(HalfArithmetic::add(a, b).to_f64(), sum, "{a} + {b}");
                let difference = overflowed(rounded((fixed(a) - fixed(b)) << 24, 11, 24));
                assert_eq!(HalfArithmetic::sub(a, b).to_f64(), difference, "{a} - {b}");
                let product = overflowed(rounded(fixed(a) * fixed(b), 11, 24));
                assert_eq!(HalfArithmetic::mul(a, b).to_f64(), product, "{a} * {b}");
                for c in samples.iter().map(|&bits| f16::from_bits(bits)).filter(finite) {
                    let exact = fixed(a) * fixed(b) + (fixed(c) << 24);
                    let exact = overflowed(rounded(exact, 11, 24));
                    assert_eq!(a.mul_add(b, c).to_f64(), exact, "{a} * {b} + {c}");
                }
            }
        }
    }

    #[test]
    fn bf16_is_rounded_once() {
        // If the operands are 0 or between 2⁻¹⁶ and 2²⁴, all results fit into 128-bit fixed point.
        let of_medium_size =
            |x: &bf16| x.to_f64() == 0.0 || x.to_f64().abs() > 1.6e-5 && x.to_f64().abs() < 1.6e7;
        let numbers: Vec<bf16> = samples()
            .into_iter()
            .flat_map(|bits| [bits, bits & 0x8fff | 0x3800])
            .map(bf16::from_bits)
            .filter(of_medium_size)
            .collect();
        let fixed = |x: bf16| (x.to_f64() * 16_777_216.0) as i128;
        for &a in &numbers {
            for &b in &numbers {
                let sum = rounded((fixed(a) + fixed(b)) << 24, 8, 48);
                assert_eq!(HalfArithmetic::add(a, b).to_f64(), sum, "{a} + {b}");
                for &c in &numbers {
                    let exact = rounded(fixed(a) * fixed(b) + (fixed(c) << 24), 8, 48);
                    assert_eq!(a.mul_add(b, c).to_f64(), exact, "{a} * {b} + {c}");
                }
            }
        }
        // Subnormal products are rounded once, too.
        let tiny = bf16::from_bits(0x0083);
        assert_eq!(HalfArithmetic::mul(tiny, bf16::from_f32(0.5)).to_bits(), 0x0042);
        assert_eq!(HalfArithmetic::mul(tiny, bf16::from_f32(0.75)).to_bits(), 0x0062);
    }

    #[test]
    fn specials_follow_ieee() {
        let [zero, one, infinity] = [0.0, 1.0, f32::INFINITY].map(f16::from_f32);
        assert_eq!(HalfArithmetic::sub(infinity, infinity).to_bits(), 0x7fff);
        assert_eq!(HalfArithmetic::mul(zero, infinity).to_bits(), 0x7fff);
        assert_eq!(HalfArithmetic::add(infinity, one), infinity);
        assert_eq!(HalfArithmetic::mul(-zero, one).to_bits(), 0x8000);
        assert_eq!(HalfArithmetic::mul(zero, one).to_bits(), 0);
        assert_eq!(HalfArithmetic::add(-zero, -zero).to_bits(), 0x8000);
        assert_eq!(HalfArithmetic::sub(zero, zero).to_bits(), 0);
        let pair = [one, infinity].mul_add([one, -one], [one, zero]);
        assert_eq!(pair, [f16::from_f32(2.0), -infinity]);
        let huge = bf16::from_f32(3e38);
        assert_eq!(HalfArithmetic::add(huge, huge).to_bits(), 0x7f80);
    }
}
