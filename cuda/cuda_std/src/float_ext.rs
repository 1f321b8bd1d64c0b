//! [`FloatExt`]: the special functions of libdevice that the standard library does not have.
//!
//! The names are rust-cuda's. The GPU and the CPU run the same code. The error functions, the
//! reciprocal cube root and the functions of half turns are implemented in this crate. The Bessel
//! functions and the gamma function come from the crate `libm`, and the inverse and the scaled
//! functions of this file compute an `f32` result in `f64`.
//!
//! A call of a method that the standard library has under the same name as an unstable method needs
//! the form `FloatExt::gamma(x)` on the CPU.

use crate::float::GpuFloat;
use crate::float::private::Sealed;

use crate::float::{double, hardware, single};

/// Defines [`FloatExt`] and both implementations. Each method names the functions for an `f32` and
/// for an `f64`.
macro_rules! float_ext {
    ($(
        $(#[$doc:meta])+
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty: $f32:expr, $f64:expr;
    )+) => {
        /// Functions beyond the standard library's: error functions, Bessel functions, the gamma
        /// function, the normal distribution and decomposition of a float.
        ///
        /// ```
        /// use cuda_std::prelude::*;
        ///
        /// let share_within_one_deviation = 2.0 * 1.0_f64.norm_cdf() - 1.0;
        /// assert!((share_within_one_deviation - 0.682_689_492).abs() < 1e-9);
        /// ```
        pub trait FloatExt: Sized + Sealed {
            $(
                $(#[$doc])+
                fn $name(self $(, $argument: $type)*) -> $result;
            )+
        }

        impl FloatExt for f32 {$(
            #[inline]
            fn $name(self $(, $argument: $type)*) -> $result {
                $f32(self $(, $argument)*)
            }
        )+}

        impl FloatExt for f64 {$(
            #[inline]
            fn $name(self $(, $argument: $type)*) -> $result {
                $f64(self $(, $argument)*)
            }
        )+}
    };
}

float_ext! {
    /// Returns the cosine of π times the number.
    cospi() -> Self: single::cospi, double::cospi;
    /// Returns the error function of the number.
    error_function() -> Self: single::erf, double::erf;
    /// Returns 1 minus the error function.
    complementary_error_function() -> Self: single::erfc, double::erfc;
    /// Returns the inverse of [`complementary_error_function`](Self::complementary_error_function),
    /// for numbers in [0, 2].
    inv_complementary_error_function() -> Self: |x| erfcinv(f64::from(x)) as f32, erfcinv;
    /// Returns [`complementary_error_function`](Self::complementary_error_function) times
    /// e^(`self`²).
    scaled_complementary_error_function() -> Self: |x| erfcx(f64::from(x)) as f32, erfcx;
    /// Splits the number into a fraction in ±[0.5, 1) and an exponent, so that the number is
    /// `fraction * 2^exponent`. Returns 0, infinities and NaN unchanged, with the exponent 0.
    frexp() -> (Self, i32): frexp_f32, frexp_f64;
    /// Returns the unbiased base-2 exponent of the number: 0 for 1, and 3 for 8.
    unbiased_exp() -> i32: libm::ilogbf, libm::ilogb;
    /// Returns the Bessel function of the first kind, order 0.
    j0() -> Self: libm::j0f, libm::j0;
    /// Returns the Bessel function of the first kind, order 1.
    j1() -> Self: libm::j1f, libm::j1;
    /// Returns the Bessel function of the first kind, order `order`.
    jn(order: i32) -> Self: |x, order| libm::jnf(order, x), |x, order| libm::jn(order, x);
    /// Returns `self * 2^exp`.
    ldexp(exp: i32) -> Self: libm::ldexpf, libm::ldexp;
    /// Returns the natural logarithm of the absolute value of the gamma function.
    log_gamma() -> Self: libm::lgammaf, libm::lgamma;
    /// Returns the natural logarithm of 1 plus the number, as [`GpuFloat::ln_1p`] does.
    log1p() -> Self: <f32 as GpuFloat>::ln_1p, <f64 as GpuFloat>::ln_1p;
    /// Returns the cumulative distribution function of the standard normal distribution.
    norm_cdf() -> Self: |x| norm_cdf(f64::from(x)) as f32, norm_cdf;
    /// Returns the inverse of [`norm_cdf`](Self::norm_cdf), for numbers in [0, 1].
    inv_norm_cdf() -> Self: |p| inv_norm_cdf(f64::from(p)) as f32, inv_norm_cdf;
    /// Returns the reciprocal of the cube root.
    rcbrt() -> Self: single::rcbrt, double::rcbrt;
    /// Clamps the number to [0, 1]. NaN gives 0. For an `f32`, the GPU clamps as part of the
    /// instruction that computes the number.
    saturate() -> Self: hardware::saturate, |x: f64| if x > 0.0 { x.min(1.0) } else { 0.0 };
    /// Returns `self * 2^exp`, as [`ldexp`](Self::ldexp) does.
    scale_by_n(exp: i32) -> Self: libm::scalbnf, libm::scalbn;
    /// Returns the sine and the cosine of π times the number.
    sincospi() -> (Self, Self): single::sincospi, double::sincospi;
    /// Returns the sine of π times the number.
    sinpi() -> Self: single::sinpi, double::sinpi;
    /// Returns the gamma function.
    gamma() -> Self: libm::tgammaf, libm::tgamma;
    /// Returns the Bessel function of the second kind, order 0.
    y0() -> Self: libm::y0f, libm::y0;
    /// Returns the Bessel function of the second kind, order 1.
    y1() -> Self: libm::y1f, libm::y1;
    /// Returns the Bessel function of the second kind, order `order`.
    yn(order: i32) -> Self: |x, order| libm::ynf(order, x), |x, order| libm::yn(order, x);
}

/// Defines `frexp` for one type. libm's version is recursive, so a GPU compiler cannot determine
/// its stack size. `$mantissa` is the number of mantissa bits, which follow the exponent bits.
macro_rules! frexp {
    ($name:ident, $float:ty, $mantissa:literal) => {
        fn $name(x: $float) -> ($float, i32) {
            if x == 0.0 || !x.is_finite() {
                return (x, 0);
            }
            // All subnormals have the same exponent bits, so they are scaled up first.
            let tiny = x.abs() < <$float>::MIN_POSITIVE;
            let scale = if tiny { 1.0 / <$float>::EPSILON } else { 1.0 };
            let bits = (x * scale).to_bits();
            let half = (0.5 as $float).to_bits();
            let exponents = <$float>::INFINITY.to_bits();
            let exponent = ((bits & exponents) >> $mantissa) as i32 - (half >> $mantissa) as i32;
            let fraction = bits & !exponents | half;
            let scaled_by = if tiny { $mantissa } else { 0 };
            (<$float>::from_bits(fraction), exponent - scaled_by)
        }
    };
}
frexp!(frexp_f32, f32, 23);
frexp!(frexp_f64, f64, 52);

/// Returns e^(x²)·erfc(x).
fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        // The rounding error of x² becomes a relative error of e^(x²), so the code corrects it.
        let square = x * x;
        let error = GpuFloat::mul_add(x, x, -square);
        let scale = GpuFloat::exp(square);
        GpuFloat::mul_add(scale, error, scale) * double::erfc(x)
    } else {
        // Laplace's continued fraction, evaluated from the innermost of 20 terms.
        let fraction = (1..=20).rev().fold(x, |rest, k| x + 0.5 * f64::from(k) / rest);
        0.5 * core::f64::consts::FRAC_2_SQRT_PI / fraction
    }
}

/// Returns the cumulative standard normal distribution at `x`, which is erfc(−x/√2)/2.
fn norm_cdf(x: f64) -> f64 {
    /// 1/√2 as a sum of two f64.
    const ROOT: (f64, f64) = (core::f64::consts::FRAC_1_SQRT_2, -4.833_646_656_726_457e-17);
    let t = -x * ROOT.0;
    // Corrects the rounding error of the argument with the derivative of erfc.
    let error = GpuFloat::mul_add(-x, ROOT.0, -t) - x * ROOT.1;
    let slope = -core::f64::consts::FRAC_2_SQRT_PI * GpuFloat::exp(-t * t);
    let correction = if slope == 0.0 { 0.0 } else { error * slope };
    0.5 * (double::erfc(t) + correction)
}

/// Returns the inverse of erfc at `x`.
fn erfcinv(x: f64) -> f64 {
    -core::f64::consts::FRAC_1_SQRT_2 * inv_norm_cdf(0.5 * x)
}

/// The coefficients of numerator and denominator in [`inv_norm_cdf`] for |p − 0.5| ≤ 0.425, lowest
/// power first.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

/// The coefficients of numerator and denominator in [`inv_norm_cdf`] for values of p between the
/// ranges of [`CENTRE`] and [`TAIL`], lowest power first.
const SIDE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

/// The coefficients of numerator and denominator in [`inv_norm_cdf`] for p or 1 − p below e⁻²⁵,
/// lowest power first.
const TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// Returns the inverse of [`norm_cdf`] at `p`, by Wichura's algorithm AS 241 (1988). The algorithm
/// uses one of three quotients of polynomials and has a relative error of about 1e-16.
fn inv_norm_cdf(p: f64) -> f64 {
    let quotient = |[over, under]: &[[f64; 8]; 2], r: f64| {
        let polynomial = |terms: &[f64; 8]| {
            terms.iter().rev().fold(0.0, |sum, term| GpuFloat::mul_add(sum, r, *term))
        };
        polynomial(over) / polynomial(under)
    };
    let q = p - 0.5;
    if GpuFloat::abs(q) <= 0.425 {
        return q * quotient(&CENTRE, GpuFloat::mul_add(-q, q, 0.180_625));
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return GpuFloat::copysign(f64::INFINITY, q);
    }
    // If `p` is outside [0, 1], `tail` is negative, so `r` and the result are NaN.
    let r = GpuFloat::sqrt(-GpuFloat::ln(tail));
    let size = if r <= 5.0 { quotient(&SIDE, r - 1.6) } else { quotient(&TAIL, r - 5.0) };
    GpuFloat::copysign(size, q)
}

#[cfg(test)]
mod tests {
    use super::FloatExt;

    fn is_near(found: f64, exact: f64, tolerance: f64) {
        let error = (found - exact).abs();
        assert!(error <= tolerance * exact.abs(), "{found} instead of {exact}");
    }

    #[test]
    fn inverse_of_the_normal_distribution_comes_back() {
        // A relative error of x causes a relative error of p that is up to x² times as large.
        for i in 1..2000 {
            let p = f64::from(i) / 2000.0;
            let x = p.inv_norm_cdf();
            is_near(x.norm_cdf(), p, 1e-15 * (1.0 + x * x));
        }
        for exponent in 1..307 {
            let p = 10.0_f64.powi(-exponent);
            let x = p.inv_norm_cdf();
            is_near(x.norm_cdf(), p, 1e-15 * (1.0 + x * x));
        }
        assert_eq!(0.0_f64.inv_norm_cdf(), f64::NEG_INFINITY);
        assert_eq!(1.0_f64.inv_norm_cdf(), f64::INFINITY);
        assert!(FloatExt::inv_norm_cdf(-0.1_f64).is_nan() && 1.1_f64.inv_norm_cdf().is_nan());
        assert!(f64::NAN.inv_norm_cdf().is_nan());
    }

    #[test]
    fn error_functions_have_the_values_of_tables() {
        // The expected values are from Abramowitz and Stegun, with more digits from Wolfram.
        is_near(0.5_f64.error_function(), 0.520_499_877_813_046_5, 2e-16);
        is_near(2.0_f64.complementary_error_function(), 4.677_734_981_047_266e-3, 4e-16);
        is_near(1.0_f64.scaled_complementary_error_function(), 0.427_583_576_155_807, 4e-16);
        is_near(5.0_f64.scaled_complementary_error_function(), 0.110_704_637_733_068_6, 1e-15);
        is_near(1e8_f64.scaled_complementary_error_function(), 5.641_895_835_477_563e-9, 4e-16);
        for x in [0.1, 0.5, 1.0, 1.5, 1.9, 1e-20] {
            let back = x.inv_complementary_error_function().complementary_error_function();
            is_near(back, x, 2e-14);
        }
        // The two formulas of the scaled complementary error function, below 10 and from 10 on,
        // agree at the boundary.
        let below = 9.999_999_999_f64.scaled_complementary_error_function();
        is_near(10.0_f64.scaled_complementary_error_function(), below, 2e-10);
        is_near(1.0_f64.norm_cdf(), 0.841_344_746_068_542_9, 2e-16);
        is_near((-10.0_f64).norm_cdf(), 7.619_853_024_160_526e-24, 1e-15);
        is_near((-37.0_f64).norm_cdf(), 5.725_571_222_524_576e-300, 1e-14);
        assert_eq!(f64::NEG_INFINITY.norm_cdf(), 0.0);
        assert_eq!(f64::INFINITY.norm_cdf(), 1.0);
    }

    #[test]
    fn multiples_of_a_half_turn_are_exact() {
        for i in -9..9_i32 {
            let x = f64::from(i);
            assert_eq!(x.sinpi(), 0.0);
            assert_eq!(x.cospi(), if i % 2 == 0 { 1.0 } else { -1.0 });
            assert_eq!((x + 0.5).cospi(), 0.0);
            assert_eq!((x + 0.5).sinpi(), if i % 2 == 0 { 1.0 } else { -1.0 });
            let (sin, cos) = (x * 0.37).sincospi();
            assert!((sin - (x * 0.37 * std::f64::consts::PI).sin()).abs() < 2e-15);
            assert!((cos - (x * 0.37 * std::f64::consts::PI).cos()).abs() < 2e-15);
        }
        assert_eq!(1e300_f64.sincospi(), (0.0, 1.0));
        assert!(f64::INFINITY.sinpi().is_nan() && f32::NAN.cospi().is_nan());
    }

    #[test]
    fn the_rest_has_known_values() {
        is_near(FloatExt::gamma(5.0_f64), 24.0, 1e-15);
        assert_eq!(FloatExt::frexp(12.0_f32), (0.75, 4));
        assert_eq!(FloatExt::frexp(-1.0_f64), (-0.5, 1));
        assert_eq!(FloatExt::frexp(3.0 * f32::from_bits(1)), (0.75, -147));
        assert_eq!(FloatExt::frexp(f64::from_bits(1)), (0.5, -1073));
        assert_eq!(FloatExt::frexp(f64::NEG_INFINITY), (f64::NEG_INFINITY, 0));
        assert_eq!(FloatExt::ldexp(0.75_f32, 4), 12.0);
        assert_eq!(0.75_f64.scale_by_n(4), 12.0);
        assert_eq!(12.0_f64.unbiased_exp(), 3);
        is_near(8.0_f64.rcbrt(), 0.5, 1e-15);
        is_near(1.0_f64.j0(), 0.765_197_686_557_966_6, 1e-15);
        is_near(1.0_f64.jn(2), 0.114_903_484_931_900_5, 1e-14);
        is_near(1.0_f64.yn(0), 0.088_256_964_215_676_96, 1e-14);
        assert_eq!([-1.0_f32, 0.5, 2.0, f32::NAN].map(FloatExt::saturate), [0.0, 0.5, 1.0, 0.0]);
        assert_eq!([-1.0_f64, 0.5, 2.0, f64::NAN].map(FloatExt::saturate), [0.0, 0.5, 1.0, 0.0]);
    }
}
