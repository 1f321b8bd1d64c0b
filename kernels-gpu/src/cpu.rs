//! Shared parts of the functions that compute whole launches on the CPU (option `cpu` of `#[kernel]`).
//!
//! Such a function is in the file `cpu.rs` of its system. It is written in plain loops over arrays, which the compiler
//! vectorises: [`vectorised`] compiles the loops for the best vector instructions of the CPU, and rayon runs them on all
//! cores. The loops write `a * b + c` and not `mul_add`, which is a function call on a CPU without fused multiply-adds.
//! The exceptions are functions whose results must have the same bits as those of the kernels.

use core::f32::consts::LN_2;
use cuda_std::launch::LaunchConfig;

/// Runs `$work` compiled for the CPU's vector instructions: AVX2 with fused multiply-adds, SSE2 or NEON. All functions that
/// `$work` calls must be inlined, or they are compiled without AVX2: mark them `#[inline(always)]`.
macro_rules! vectorised {
    ($work:expr) => {
        $crate::cpu::vectorise(
            #[inline(always)]
            || $work,
        )
    };
}
pub(crate) use vectorised;

/// Implements [`vectorised`]. AVX-512 has no copy of its own: it was not faster.
#[inline(always)]
pub(crate) fn vectorise<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        use std::sync::LazyLock;

        #[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }

        static HAS_AVX2: LazyLock<bool> = LazyLock::new(|| {
            let bits = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
            bits && has!("avx2") && has!("f16c") && has!("fma")
        });
        if *HAS_AVX2 {
            // SAFETY: the CPU has all these features.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// Returns the number of threads of a launch along an axis (0 to 2).
pub(crate) fn threads(config: &LaunchConfig, axis: usize) -> u64 {
    u64::from(config.grid[axis]) * u64::from(config.block[axis])
}

/// Returns `side`, or the number of threads of a launch along an axis if it is smaller.
pub(crate) fn covered(config: &LaunchConfig, axis: usize, side: u32) -> u32 {
    // The smaller number fits, because `side` does.
    threads(config, axis).min(side.into()) as u32
}

/// Returns whether a launch has a thread for each of `width` × `height` elements.
pub(crate) fn covers(config: &LaunchConfig, width: u32, height: u32) -> bool {
    covered(config, 0, width) == width && covered(config, 1, height) == height
}

/// Returns `x^gamma` for `x` from 0 to 4, with a relative error of at most 1e-6 · |gamma| for results above 1e-9. The
/// result is 0 for 0.
#[inline(always)]
pub(crate) fn power(x: f32, gamma: f32) -> f32 {
    // x = m · 2^e with m from √½ to √2. log₂(m) is the series of the inverse hyperbolic tangent.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let e = (bits.wrapping_sub(ROOT_HALF) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e << 23) as u32));
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let log = e as f32 + s * (2.885_39 + q * (0.961_796_7 + q * (0.577_078 + q * 0.412_198_6)));
    // 2^t is a power of two times a Taylor series around 0.
    let t = log * gamma;
    // These limits, which a NaN does not pass, only matter for absurd gammas.
    let t = if t > -126.0 { t } else { -126.0 };
    let t = if t < 126.0 { t } else { 126.0 };
    // The sum with 1.5 · 2²³ is rounded to an integer.
    const ROUND: f32 = 12_582_912.0;
    let n = (t + ROUND) - ROUND;
    let f = t - n;
    let series = 1.0
        + f * (LN_2
            + f * (0.240_226_5
                + f * (0.055_504_11
                    + f * (0.009_618_129 + f * (0.001_333_356 + f * 0.000_154_035)))));
    // SAFETY: `n` is an integer from −126 to 126.
    let scale = f32::from_bits(((unsafe { n.to_int_unchecked::<i32>() } + 127) << 23) as u32);
    if x > 0.0 { series * scale } else { 0.0 }
}
