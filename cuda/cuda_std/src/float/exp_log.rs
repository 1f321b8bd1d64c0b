//! Powers, exponentials and logarithms of an `f32`, computed without `f64`, because most GPUs have
//! few units for `f64`. Every function is within 2 ULP.
//!
//! `x^y = 2^(y·log2 x)`. An error in the exponent becomes a relative error of the result, so log2
//! and the product are carried as an unevaluated sum of two f32 (Dekker 1971). With `x = 2^e·m` and
//! `m` in `[2/3, 4/3)`, six terms of the series of `ln m = 2·atanh((m − 1)/(m + 1))` suffice. A
//! power takes about 40 instructions.

use super::GpuFloat;

#[cfg(target_arch = "nvptx64")]
use super::power::{RCP, unary};

/// log2(e) as a sum of two f32.
const LOG2_E: (f32, f32) = (core::f32::consts::LOG2_E, 1.925_963_e-8);

/// ln 2 as a sum of two f32.
const LN_2: (f32, f32) = (core::f32::consts::LN_2, -1.904_654_2e-9);

/// log10 2 as a sum of two f32.
const LOG10_2: (f32, f32) = (core::f32::consts::LOG10_2, -1.432_098_9e-8);

#[cfg(target_arch = "nvptx64")]
fn reciprocal(x: f32) -> f32 {
    unary::<RCP>(x)
}

#[cfg(not(target_arch = "nvptx64"))]
fn reciprocal(x: f32) -> f32 {
    1.0 / x
}

/// Returns `x^y` for `x ≥ 0`. For a negative `x`, returns 1 if `y` is 0, and NaN otherwise.
#[inline(always)]
pub(super) fn positive_powf(x: f32, y: f32) -> f32 {
    let (log_hi, log_lo) = log2_as_sum(x);
    let hi = y * log_hi;
    let lo = GpuFloat::mul_add(y, log_hi, -hi) + y * log_lo;
    let power = exp2_of_sum(hi, lo);
    // The special cases of IEEE 754 `pow` for x ≥ 0. They compile to selects, not branches.
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

/// Returns `x^y`. A finite negative `x` gives NaN unless `y` is an integer or infinite.
#[inline(always)]
pub(super) fn powf(x: f32, y: f32) -> f32 {
    let size = positive_powf(x.abs(), y);
    // Every f32 of 2²⁴ or more is an even integer, so only a smaller `y` can be odd.
    let is_odd = y.abs() < 16_777_216.0 && GpuFloat::trunc(y) == y && y as i32 & 1 != 0;
    if is_odd {
        size.copysign(x)
    } else if x < 0.0 && x > f32::NEG_INFINITY && GpuFloat::trunc(y) != y {
        f32::NAN
    } else {
        size
    }
}

/// Returns 2 to the power `x`.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    exp2_of_sum(x, 0.0)
}

/// Returns e to the power `x`.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let hi = x * LOG2_E.0;
    exp2_of_sum(hi, GpuFloat::mul_add(x, LOG2_E.0, -hi) + x * LOG2_E.1)
}

/// Returns the logarithm of `x` to the base 2.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let (hi, lo) = log2_as_sum(x);
    log_or_special(x, hi + lo)
}

/// Returns the natural logarithm of `x`.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    scaled_log2(x, LN_2)
}

/// Returns the logarithm of `x` to the base 10.
#[inline(always)]
pub(super) fn log10(x: f32) -> f32 {
    scaled_log2(x, LOG10_2)
}

/// Returns `log2(x)` times a constant that is a sum of two f32.
#[inline(always)]
fn scaled_log2(x: f32, scale: (f32, f32)) -> f32 {
    let (log_hi, log_lo) = log2_as_sum(x);
    let hi = log_hi * scale.0;
    let lo = GpuFloat::mul_add(log_hi, scale.0, -hi);
    let lo = GpuFloat::mul_add(log_hi, scale.1, lo);
    let lo = GpuFloat::mul_add(log_lo, scale.0, lo);
    log_or_special(x, hi + lo)
}

/// Returns `log` if `x` is positive and finite. Otherwise, returns the special value that IEEE 754
/// defines for the logarithm of `x`.
#[inline(always)]
fn log_or_special(x: f32, log: f32) -> f32 {
    if x > 0.0 && x < f32::INFINITY {
        log
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        f32::INFINITY
    } else {
        f32::NAN
    }
}

/// Returns log2 of a positive finite number as a sum of two f32.
#[inline(always)]
fn log2_as_sum(x: f32) -> (f32, f32) {
    // All subnormal numbers have the same exponent bits, so they are multiplied by 2²³, which makes
    // them normal.
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 8_388_608.0 } else { x }.to_bits() as i32;
    // The number is 2^e·m. 0x3f2aaaab are the bits of 2/3, so the exponent bits of the difference
    // are the exponent e for which m is in [2/3, 4/3).
    let e = bits.wrapping_sub(0x3f2a_aaab) & !0x007f_ffff;
    let m = f32::from_bits(bits.wrapping_sub(e) as u32);
    let e = (e >> 23) as f32 - if tiny { 23.0 } else { 0.0 };

    // u + u_lo = 2(m - 1)/(m + 1). The division is approximate, so u_lo corrects it by its
    // residual, which is exact.
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

    // (u + ln_lo)·log2(e) + e. The product u·log2(e) is kept as the sum of `hi` and `lo`.
    let hi = u * LOG2_E.0;
    let lo = GpuFloat::mul_add(u, LOG2_E.0, -hi);
    let lo = GpuFloat::mul_add(u, LOG2_E.1, lo);
    let lo = GpuFloat::mul_add(ln_lo, LOG2_E.0, lo);
    let sum = e + hi;
    // Knuth's two-sum gives the rounding error of `e + hi`, even if `hi` is the larger number.
    let back = sum - e;
    let error = (e - (sum - back)) + (hi - back);
    (sum, error + lo)
}

/// Returns 2 to the power `hi + lo`, where `lo` is a rounding error of `hi`.
#[inline(always)]
fn exp2_of_sum(hi: f32, lo: f32) -> f32 {
    // Beyond ±160, the result is 0 or infinite, and `lo` may be large, so `lo` is ignored. `clamp`
    // returns NaN for NaN.
    let inside = hi.abs() < 160.0;
    let (hi, lo) = (hi.clamp(-160.0, 160.0), if inside { lo } else { 0.0 });
    let n = GpuFloat::round_ties_even(hi);
    let f = (hi - n) + lo;
    // Taylor series of e^(f·ln 2) for |f| ≤ 1/2. The first omitted term is under 6e-9.
    let p = GpuFloat::mul_add(f, 1.525_273_4e-5, 1.540_353e-4);
    let p = GpuFloat::mul_add(p, f, 1.333_355_8e-3);
    let p = GpuFloat::mul_add(p, f, 9.618_129e-3);
    let p = GpuFloat::mul_add(p, f, 5.550_411e-2);
    let p = GpuFloat::mul_add(p, f, 2.402_265_2e-1);
    let p = GpuFloat::mul_add(p, f, core::f32::consts::LN_2);
    let p = GpuFloat::mul_add(p, f, 1.0);
    // 2^n as two factors, because n may be outside the range of one exponent.
    let n = n as i32;
    let half = n >> 1;
    let scale = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
    p * scale(half) * scale(n - half)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(positive_powf(-1.0, 0.5).is_nan());
        for x in [-0.0, -0.5, -1.0, -3.0, -inf] {
            for y in [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0, -3.5, 1e9, -1e9, inf, -inf] {
                let (ours, std) = (powf(x, y), x.powf(y));
                let same = ulps(ours, std) <= 2 || ours.is_nan() && std.is_nan();
                assert!(same, "{x}^{y}: {ours} instead of {std}");
            }
        }
        assert!(powf(f32::NAN, 0.5).is_nan());
    }

    #[test]
    fn exponentials_and_logarithms_are_within_two_ulp() {
        type Pair = (fn(f32) -> f32, fn(f64) -> f64);
        let exponentials: [Pair; 2] = [(exp, f64::exp), (exp2, f64::exp2)];
        let logarithms: [Pair; 3] = [(ln, f64::ln), (log2, f64::log2), (log10, f64::log10)];
        for (ours, exact) in exponentials {
            for i in -40_000..40_000 {
                let x = i as f32 * 0.004;
                let error = ulps(ours(x), exact(x.into()) as f32);
                assert!(error <= 2, "{x}: {error} ULP");
            }
            for x in [-1e9, -200.0, 200.0, 1e9, f32::INFINITY, f32::NEG_INFINITY, 1e-30, 0.0] {
                assert_eq!(ours(x), exact(x.into()) as f32, "{x}");
            }
            assert!(ours(f32::NAN).is_nan());
        }
        for (ours, exact) in logarithms {
            for i in 1..60_000 {
                for x in [i as f32 * 4e-5, i as f32 * 1.1e33, f32::from_bits(i), 1.0 / i as f32] {
                    let error = ulps(ours(x), exact(x.into()) as f32);
                    assert!(error <= 2, "{x}: {error} ULP");
                }
            }
            for x in [0.0, -0.0, 1.0, f32::INFINITY] {
                assert_eq!(ours(x), exact(x.into()) as f32, "{x}");
            }
            assert!(ours(-1.0).is_nan() && ours(f32::NEG_INFINITY).is_nan());
            assert!(ours(f32::NAN).is_nan());
        }
    }
}
