//! [`GpuPower`]: powers, logarithms and reciprocals of an `f32` with the special function unit.
//!
//! The CPU computes the functions with the standard library, so the results of CPU and GPU differ
//! by the stated errors. [`GpuFloat`](super::GpuFloat) has powers of numbers of any sign.

#[cfg(doc)]
use super::GpuFloat;
#[cfg(target_arch = "nvptx64")]
use super::{hardware, single};

/// Powers and logarithms of an `f32`, accurate or fast, and conversion to an 8-bit level.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Returns the 8-bit level of a linear intensity in [0, 1] after gamma correction.
/// fn level(intensity: f32) -> u8 {
///     (255.0 * intensity.fast_powf(1.0 / 2.2)).to_u8_saturating()
/// }
/// assert_eq!(level(0.5), 186);
/// ```
pub trait GpuPower: Sized {
    /// Returns `self` to the power `exponent`, for `self ≥ 0`, within 2 ULP. For a negative `self`
    /// and an exponent other than 0, the GPU returns NaN, but the CPU may not. [`GpuFloat::powf`]
    /// also accepts negative numbers and takes a few more instructions.
    #[must_use]
    fn positive_powf(self, exponent: Self) -> Self;

    /// Returns the base-2 logarithm with an error of at most 2⁻²²: absolute for `self` in
    /// `[0.5, 2]`, relative elsewhere. The GPU treats subnormal numbers as 0.
    #[must_use]
    fn fast_log2(self) -> Self;

    /// Returns 2 to the power `self` with a relative error of at most 2⁻²². On the GPU, a subnormal
    /// result becomes 0.
    #[must_use]
    fn fast_exp2(self) -> Self;

    /// Returns `self` to the power `exponent`, computed with [`fast_log2`](Self::fast_log2) and
    /// [`fast_exp2`](Self::fast_exp2). The relative error is at most 1e-5 for `self` in `[0, 1]`,
    /// an exponent in `[0.25, 4]` and a result over 1/255.
    #[must_use]
    fn fast_powf(self, exponent: Self) -> Self;

    /// Returns 1 / `self` within 1 ULP. The GPU treats subnormal numbers as 0.
    #[must_use]
    fn fast_recip(self) -> Self;

    /// Returns 1 / √`self` within 2 ULP. The GPU treats subnormal numbers as 0.
    #[must_use]
    fn fast_rsqrt(self) -> Self;

    /// Returns the nearest integer as `u8`, with ties to even. Numbers below 0 and NaN give 0,
    /// numbers above 255 give 255.
    #[must_use]
    fn to_u8_saturating(self) -> u8;
}

#[cfg(not(target_arch = "nvptx64"))]
impl GpuPower for f32 {
    fn positive_powf(self, exponent: Self) -> Self {
        Self::powf(self, exponent)
    }

    fn fast_log2(self) -> Self {
        self.log2()
    }

    fn fast_exp2(self) -> Self {
        self.exp2()
    }

    #[inline]
    fn fast_powf(self, exponent: Self) -> Self {
        Self::powf(self, exponent)
    }

    #[inline]
    fn fast_recip(self) -> Self {
        1.0 / self
    }

    #[inline]
    fn fast_rsqrt(self) -> Self {
        1.0 / self.sqrt()
    }

    #[inline]
    fn to_u8_saturating(self) -> u8 {
        self.round_ties_even() as u8
    }
}

#[cfg(target_arch = "nvptx64")]
impl GpuPower for f32 {
    #[inline(always)]
    fn positive_powf(self, exponent: Self) -> Self {
        single::positive_powf(self, exponent)
    }

    #[inline(always)]
    fn fast_log2(self) -> Self {
        hardware::log2_ftz(self)
    }

    #[inline(always)]
    fn fast_exp2(self) -> Self {
        hardware::exp2_ftz(self)
    }

    #[inline(always)]
    fn fast_powf(self, exponent: Self) -> Self {
        (exponent * self.fast_log2()).fast_exp2()
    }

    #[inline(always)]
    fn fast_recip(self) -> Self {
        hardware::reciprocal(self)
    }

    #[inline(always)]
    fn fast_rsqrt(self) -> Self {
        hardware::reciprocal_sqrt(self)
    }

    #[inline(always)]
    fn to_u8_saturating(self) -> u8 {
        let level: u32;
        // SAFETY: the instruction only operates on registers. `cvt` to u8 saturates and turns NaN
        // into 0.
        unsafe {
            core::arch::asm!("cvt.rni.sat.u8.f32 {}, {};", out(reg32) level, in(reg32) self,
                options(pure, nomem, nostack, preserves_flags));
        }
        level as u8
    }
}
