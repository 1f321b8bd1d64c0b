//! Floating-point operations that `core` lacks, or that the GPU does faster than IEEE asks.
//!
//! On the GPU there is no libm: `powf` is ours, the `fast_` ones are the special function unit. On
//! the CPU all of them are the standard library's, so that each agrees with the other within its
//! stated error.

/// IEEE operations that a kernel has on both machines, for `f32` and `f64`: correctly rounded.
///
/// On the CPU the standard library's methods of the same name take precedence and do the same.
pub trait GpuFloat: Sized {
    /// `self * a + b`, rounded once. The compiler never fuses on its own.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;

    /// Largest integer not above.
    #[must_use]
    fn floor(self) -> Self;

    /// Nearest integer, ties to even.
    #[must_use]
    fn round_ties_even(self) -> Self;
}

/// Powers and logarithms of an `f32`, exact or fast, and conversion to a level.
pub trait GpuPower: Sized {
    /// `self` to the power `exponent`, for `self ≥ 0`, within 2 ULP. Of a negative `self` the GPU
    /// makes a NaN, the CPU may not.
    #[must_use]
    fn powf(self, exponent: Self) -> Self;

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

    /// Within 0 and 1; NaN is 0. On the GPU part of the instruction that made the number.
    #[must_use]
    fn saturate(self) -> Self;

    /// Nearest integer, ties to even, as `u8`: below 0 is 0, above 255 is 255, NaN is 0.
    #[must_use]
    fn to_u8_saturating(self) -> u8;
}

/// The standard library on the CPU, `core`'s intrinsics on the GPU.
macro_rules! gpu_float {
    ($($float:ident),+) => {$(
        impl GpuFloat for $float {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::mul_add(self, a, b);
                #[cfg(not(target_arch = "nvptx64"))]
                $float::mul_add(self, a, b)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::sqrt(self);
                #[cfg(not(target_arch = "nvptx64"))]
                $float::sqrt(self)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::floor(self);
                #[cfg(not(target_arch = "nvptx64"))]
                $float::floor(self)
            }

            #[inline(always)]
            fn round_ties_even(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::round_ties_even(self);
                #[cfg(not(target_arch = "nvptx64"))]
                $float::round_ties_even(self)
            }
        }
    )+};
}
gpu_float!(f32, f64);

#[cfg(not(target_arch = "nvptx64"))]
impl GpuPower for f32 {
    fn powf(self, exponent: Self) -> Self {
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
    #[expect(clippy::manual_clamp, reason = "what is no number becomes 0")]
    fn saturate(self) -> Self {
        self.max(0.0).min(1.0)
    }

    #[inline]
    fn to_u8_saturating(self) -> u8 {
        self.round_ties_even() as u8
    }
}

#[cfg(target_arch = "nvptx64")]
impl GpuPower for f32 {
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        pow::powf(self, exponent)
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
    fn saturate(self) -> Self {
        unary::<SATURATE>(self)
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
const RCP: u32 = 2;
#[cfg(target_arch = "nvptx64")]
const RSQRT: u32 = 3;
#[cfg(target_arch = "nvptx64")]
const SATURATE: u32 = 4;

/// One instruction of the special function unit, or that the next stage makes part of another.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn unary<const OP: u32>(x: f32) -> f32 {
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

/// `powf` from fused multiply-adds.
///
/// `x^y = 2^(y·log2 x)`. An error of the exponent becomes a relative error of the result, so log2
/// and the product are carried as an unevaluated sum of two f32 (Dekker 1971). With `x = 2^e·m` and
/// `m` in `[2/3, 4/3)`, `ln m = 2·atanh((m − 1)/(m + 1))` converges fast. About 40 instructions.
#[cfg(any(target_arch = "nvptx64", test))]
mod pow {
    use super::GpuFloat;

    #[cfg(target_arch = "nvptx64")]
    use super::{RCP, unary};

    /// log2(e) as a sum of two f32.
    const LOG2_E: (f32, f32) = (core::f32::consts::LOG2_E, 1.925_963_e-8);

    #[cfg(target_arch = "nvptx64")]
    fn reciprocal(x: f32) -> f32 {
        unary::<RCP>(x)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn reciprocal(x: f32) -> f32 {
        1.0 / x
    }

    #[inline(always)]
    pub(super) fn powf(x: f32, y: f32) -> f32 {
        let (log_hi, log_lo) = log2(x);
        let hi = y * log_hi;
        let lo = GpuFloat::mul_add(y, log_hi, -hi) + y * log_lo;
        let power = exp2(hi, lo);
        // The special cases of IEEE 754 `pow` for x ≥ 0; selects, not branches.
        if y == 0.0 || x == 1.0 {
            1.0
        } else if x.is_nan() || y.is_nan() || x < 0.0 {
            f32::NAN
        } else if x == 0.0 || x == f32::INFINITY || y.is_infinite() {
            if (x > 1.0) == (y > 0.0) { f32::INFINITY } else { 0.0 }
        } else {
            power
        }
    }

    /// log2 of a positive finite number as a sum of two f32.
    #[inline(always)]
    fn log2(x: f32) -> (f32, f32) {
        // Subnormals have no exponent of their own: scale them up.
        let tiny = x < f32::MIN_POSITIVE;
        let bits = if tiny { x * 8_388_608.0 } else { x }.to_bits() as i32;
        // 0x3f2aaaab is 2/3: the difference's exponent bits are e, for m in [2/3, 4/3).
        let e = (bits - 0x3f2a_aaab) & !0x007f_ffff;
        let m = f32::from_bits((bits - e) as u32);
        let e = (e >> 23) as f32 - if tiny { 23.0 } else { 0.0 };

        // u + u_lo = 2(m - 1)/(m + 1). The division is approximate, its residual is exact.
        let q = m - 1.0;
        let r = reciprocal(m + 1.0);
        let u = 2.0 * q * r;
        let u_lo = r * GpuFloat::mul_add(-u, q, 2.0 * (q - u));
        // 2·atanh(u/2) = u + u³/12 + u⁵/80 + u⁷/448 + u⁹/2304 + u¹¹/11264 + …
        let s = u * u;
        let p = GpuFloat::mul_add(s, 1.0 / 11264.0, 1.0 / 2304.0);
        let p = GpuFloat::mul_add(p, s, 1.0 / 448.0);
        let p = GpuFloat::mul_add(p, s, 1.0 / 80.0);
        let p = GpuFloat::mul_add(p, s, 1.0 / 12.0);
        let ln_lo = GpuFloat::mul_add(p * s, u, u_lo);

        // (u + ln_lo)·log2(e) + e, the large part split exactly.
        let hi = u * LOG2_E.0;
        let lo = GpuFloat::mul_add(u, LOG2_E.0, -hi);
        let lo = GpuFloat::mul_add(u, LOG2_E.1, lo);
        let lo = GpuFloat::mul_add(ln_lo, LOG2_E.0, lo);
        let sum = e + hi;
        // Two-sum: `hi` may be the larger one when e is 0.
        let back = sum - e;
        let error = (e - (sum - back)) + (hi - back);
        (sum, error + lo)
    }

    /// 2 to the power `hi + lo`, where `lo` is a rounding error of `hi`.
    #[inline(always)]
    fn exp2(hi: f32, lo: f32) -> f32 {
        // Beyond this the result is 0 or infinite, and the error of so large a `hi` is no fraction any
        // more; a NaN passes.
        let inside = hi.abs() < 160.0;
        let (hi, lo) = (hi.clamp(-160.0, 160.0), if inside { lo } else { 0.0 });
        let n = GpuFloat::round_ties_even(hi);
        let f = (hi - n) + lo;
        // Taylor of e^(f·ln 2) for |f| ≤ 1/2; the next term is under 2e-9.
        let p = GpuFloat::mul_add(f, 1.525_273_4e-5, 1.540_353e-4);
        let p = GpuFloat::mul_add(p, f, 1.333_355_8e-3);
        let p = GpuFloat::mul_add(p, f, 9.618_129e-3);
        let p = GpuFloat::mul_add(p, f, 5.550_411e-2);
        let p = GpuFloat::mul_add(p, f, 2.402_265_2e-1);
        let p = GpuFloat::mul_add(p, f, core::f32::consts::LN_2);
        let p = GpuFloat::mul_add(p, f, 1.0);
        // 2^n in two factors: n may be outside of a single exponent's range.
        let n = n as i32;
        let half = n >> 1;
        let scale = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
        p * scale(half) * scale(n - half)
    }

    #[cfg(test)]
    mod tests {
        use super::powf;

        fn ulps(a: f32, b: f32) -> u32 {
            (a.to_bits() as i32).abs_diff(b.to_bits() as i32)
        }

        #[test]
        fn agrees_with_f64_within_two_ulp() {
            let mut worst = 0;
            for i in 1..20_000u32 {
                let x = if i % 2 == 0 { i as f32 / 20_000.0 } else { i as f32 * 0.37 };
                for y in [0.1, 0.45, 0.8, 1.0 / 2.2, 1.0, 1.2, 2.2, 3.7, -1.3] {
                    let exact = f64::from(x).powf(f64::from(y)) as f32;
                    worst = worst.max(ulps(powf(x, y), exact));
                }
            }
            assert!(worst <= 2, "{worst} ULP");
        }

        #[test]
        fn special_cases_are_those_of_ieee() {
            let inf = f32::INFINITY;
            for x in [0.0, 0.3, 1.0, 1.5, 8.0, inf, 1e-42, f32::MAX, f32::MIN_POSITIVE] {
                for y in [
                    0.0,
                    0.5,
                    1.0,
                    2.0,
                    -1.0,
                    -0.25,
                    40.0,
                    -40.0,
                    1e10,
                    -1e10,
                    3e38,
                    -3e38,
                    inf,
                    -inf,
                    f32::NAN,
                ] {
                    let (ours, std) = (powf(x, y), x.powf(y));
                    let same = ulps(ours, std) <= 2 || ours.is_nan() && std.is_nan();
                    assert!(same, "{x}^{y}: {ours} instead of {std}");
                }
            }
            assert!(powf(-1.0, 0.5).is_nan());
            assert!(powf(f32::NAN, 0.5).is_nan());
        }
    }
}
