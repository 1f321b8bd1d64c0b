//! [`GpuPower`]: powers, logarithms and reciprocals of an `f32` by the special function unit.
//!
//! The CPU computes them with the standard library, so that each agrees with the GPU within its
//! stated error. Exact powers of any sign are [`GpuFloat`](super::GpuFloat)'s.

#[cfg(doc)]
use super::GpuFloat;
#[cfg(target_arch = "nvptx64")]
use super::exp_log;

/// Powers and logarithms of an `f32`, exact or fast, and conversion to a level.
pub trait GpuPower: Sized {
    /// `self` to the power `exponent`, for `self ≥ 0`, within 2 ULP. Of a negative `self` the GPU
    /// makes a NaN, the CPU may not. [`GpuFloat::powf`] takes negative numbers too, for a few
    /// instructions more.
    #[must_use]
    fn positive_powf(self, exponent: Self) -> Self;

    /// Base-2 logarithm within 2⁻²², absolute on `[0.5, 2]` and relative elsewhere. Subnormals count
    /// as 0.
    #[must_use]
    fn fast_log2(self) -> Self;

    /// 2 to the power `self` within 2⁻²² relative. Subnormal results are 0.
    #[must_use]
    fn fast_exp2(self) -> Self;

    /// [`fast_exp2`](Self::fast_exp2) of `exponent` times [`fast_log2`](Self::fast_log2): for
    /// `self` in `[0, 1]`, an exponent in `[0.25, 4]` and a result over 1/255 within 1e-5 relative.
    #[must_use]
    fn fast_powf(self, exponent: Self) -> Self;

    /// 1 / `self` within 1 ULP; a subnormal counts as 0.
    #[must_use]
    fn fast_recip(self) -> Self;

    /// 1 / √`self` within 2 ULP; a subnormal counts as 0.
    #[must_use]
    fn fast_rsqrt(self) -> Self;

    /// Nearest integer, ties to even, as `u8`: below 0 is 0, above 255 is 255, NaN is 0.
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
        exp_log::positive_powf(self, exponent)
    }

    #[inline(always)]
    fn fast_log2(self) -> Self {
        unary::<LG2>(self)
    }

    #[inline(always)]
    fn fast_exp2(self) -> Self {
        unary::<EX2>(self)
    }

    #[inline(always)]
    fn fast_powf(self, exponent: Self) -> Self {
        (exponent * self.fast_log2()).fast_exp2()
    }

    #[inline(always)]
    fn fast_recip(self) -> Self {
        unary::<RCP>(self)
    }

    #[inline(always)]
    fn fast_rsqrt(self) -> Self {
        unary::<RSQRT>(self)
    }

    #[inline(always)]
    fn to_u8_saturating(self) -> u8 {
        let level: u32;
        // SAFETY: arithmetic on registers. `cvt` to u8 saturates and turns NaN into 0.
        unsafe {
            core::arch::asm!("cvt.rni.sat.u8.f32 {}, {};", out(reg32) level, in(reg32) self,
                options(pure, nomem, nostack, preserves_flags));
        }
        level as u8
    }
}

#[cfg(target_arch = "nvptx64")]
const LG2: u32 = 0;
#[cfg(target_arch = "nvptx64")]
const EX2: u32 = 1;
#[cfg(target_arch = "nvptx64")]
pub(super) const RCP: u32 = 2;
#[cfg(target_arch = "nvptx64")]
const RSQRT: u32 = 3;
#[cfg(target_arch = "nvptx64")]
pub(crate) const SATURATE: u32 = 4;

/// One instruction of the special function unit, or that the next stage makes part of another.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn unary<const OP: u32>(x: f32) -> f32 {
    let y: f32;
    // SAFETY: arithmetic on registers.
    unsafe {
        match OP {
            LG2 => core::arch::asm!("lg2.approx.ftz.f32 {}, {};", out(reg32) y, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)),
            EX2 => core::arch::asm!("ex2.approx.ftz.f32 {}, {};", out(reg32) y, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)),
            SATURATE => core::arch::asm!("cvt.sat.f32.f32 {}, {};", out(reg32) y, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)),
            RSQRT => core::arch::asm!("rsqrt.approx.ftz.f32 {}, {};", out(reg32) y, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)),
            _ => core::arch::asm!("rcp.approx.ftz.f32 {}, {};", out(reg32) y, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)),
        }
    }
    y
}
