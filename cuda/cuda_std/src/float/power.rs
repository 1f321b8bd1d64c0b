//! [`GpuPower`]: powers, logarithms and reciprocals of an `f32` with the special function unit.
//!
//! The CPU computes the functions with the standard library, so the results of CPU and GPU differ
//! by the stated errors. [`GpuFloat`](super::GpuFloat) has powers of numbers of any sign.

#[cfg(target_arch = "nvptx64")]
use super::{hardware, single};

/// Defines [`GpuPower`] with the functions that the GPU and the CPU call.
macro_rules! gpu_power {
    ($(
        $(#[$doc:meta])+
        $name:ident($($argument:ident)?) -> $result:ty: $gpu:expr, $cpu:expr;
    )+) => {
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
            $(
                $(#[$doc])+
                fn $name(self $(, $argument: Self)?) -> $result;
            )+
        }

        impl GpuPower for f32 {$(
            #[inline(always)]
            fn $name(self $(, $argument: Self)?) -> $result {
                #[cfg(target_arch = "nvptx64")]
                return $gpu(self $(, $argument)?);
                #[cfg(not(target_arch = "nvptx64"))]
                $cpu(self $(, $argument)?)
            }
        )+}
    };
}

gpu_power! {
    /// Returns `self` to the power `exponent`, for `self ≥ 0`, within 2 ULP. For a negative `self`
    /// and an exponent other than 0, the GPU returns NaN, but the CPU may not.
    /// [`GpuFloat::powf`](super::GpuFloat::powf) also accepts negative numbers and takes a few more
    /// instructions.
    positive_powf(exponent) -> Self: single::positive_powf, f32::powf;
    /// Returns the base-2 logarithm with an error of at most 2⁻²²: absolute for `self` in
    /// `[0.5, 2]`, relative elsewhere. The GPU treats subnormal numbers as 0.
    fast_log2() -> Self: hardware::log2_ftz, f32::log2;
    /// Returns 2 to the power `self` with a relative error of at most 2⁻²². On the GPU, a subnormal
    /// result becomes 0.
    fast_exp2() -> Self: hardware::exp2_ftz, f32::exp2;
    /// Returns `self` to the power `exponent`, computed with [`fast_log2`](Self::fast_log2) and
    /// [`fast_exp2`](Self::fast_exp2). The relative error is at most 1e-5 for `self` in `[0, 1]`,
    /// an exponent in `[0.25, 4]` and a result over 1/255.
    fast_powf(exponent) -> Self: |x: f32, y: f32| (y * x.fast_log2()).fast_exp2(), f32::powf;
    /// Returns 1 / `self` within 1 ULP. The GPU treats subnormal numbers as 0.
    fast_recip() -> Self: hardware::reciprocal, |x: f32| 1.0 / x;
    /// Returns 1 / √`self` within 2 ULP. The GPU treats subnormal numbers as 0.
    fast_rsqrt() -> Self: hardware::reciprocal_sqrt, |x: f32| 1.0 / x.sqrt();
    /// Returns the nearest integer as `u8`, with ties to even. Numbers below 0 and NaN give 0,
    /// numbers above 255 give 255.
    to_u8_saturating() -> u8: saturating, |x: f32| x.round_ties_even() as u8;
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn saturating(x: f32) -> u8 {
    // `cvt` to u8 saturates and turns NaN into 0.
    ptx!("cvt.rni.sat.u8.f32 {}, {};" => reg32 u32, reg32 x) as u8
}
