//! Numbers of 16 bits: to single precision and back, as the GPU does it.

use half::{bf16, f16};

/// Conversions of a number of 16 bits.
pub trait GpuHalf: Copy {
    /// Exactly.
    #[must_use]
    fn widen(self) -> f32;

    /// Two at once, each to the nearest, ties to even. What is no number becomes `0x7fff`.
    #[must_use]
    fn narrow_pair(low: f32, high: f32) -> [Self; 2];
}

macro_rules! gpu_half {
    ($half:ident, $ptx:literal, |$bits:ident| $widen:expr) => {
        impl GpuHalf for $half {
            #[inline(always)]
            fn widen(self) -> f32 {
                #[cfg(target_arch = "nvptx64")]
                {
                    let $bits = self.to_bits();
                    $widen
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.to_f32()
            }

            #[inline(always)]
            fn narrow_pair(low: f32, high: f32) -> [Self; 2] {
                #[cfg(target_arch = "nvptx64")]
                {
                    let pair: u32;
                    // SAFETY: arithmetic on registers.
                    unsafe {
                        core::arch::asm!(concat!("cvt.rn.", $ptx, ".f32 {}, {}, {};"),
                            out(reg32) pair, in(reg32) high, in(reg32) low,
                            options(pure, nomem, nostack, preserves_flags));
                    }
                    [Self::from_bits(pair as u16), Self::from_bits((pair >> 16) as u16)]
                }
                #[cfg(not(target_arch = "nvptx64"))]
                [low, high].map(|value| match value.is_nan() {
                    true => Self::from_bits(0x7fff),
                    false => Self::from_f32(value),
                })
            }
        }
    };
}
gpu_half!(bf16, "bf16x2", |bits| f32::from_bits(u32::from(bits) << 16));
gpu_half!(f16, "f16x2", |bits| {
    let wide: f32;
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) wide, in(reg16) bits,
            options(pure, nomem, nostack, preserves_flags));
    }
    wide
});
