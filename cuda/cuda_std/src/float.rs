//! Floating-point functions that `core` lacks, and fast versions that are less accurate than IEEE
//! 754 requires.
//!
//! [`GpuFloat`] has the methods of the standard library's `f32` and `f64`. On the CPU the standard
//! library's methods take precedence, so a kernel calls `x.sin()` in both builds. On the GPU:
//!
//! - Rounding, `sqrt` and `mul_add` take one or two instructions and are correctly rounded.
//! - `powi` multiplies, and `log` divides two logarithms, so rounding errors add up.
//! - All other functions are implemented here, within 2 ULP. Functions of `f32` do not use `f64`.
//!   Each takes at most 1.5 times the instructions of CUDA's function; `cuda/doc/maths.md` lists the
//!   errors and the instructions.
//!
//! On the GPU, LLVM expands the operator `%` on floats to a division and a product. Its result is
//! wrong if the quotient has more digits than the mantissa of the type. [`GpuFloat::rem_euclid`] is
//! exact.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Writes the points of a circle.
//! #[kernel(dims(1))]
//! pub fn circle(radius: f32, out: SliceMut<[f32; 2]>) {
//!     let i = thread::unique_1d();
//!     let (sin, cos) = (thread::index_1d() as f32 * 0.01).sin_cos();
//!     out.set(i, [radius * cos, radius * sin]);
//! }
//! ```
//!
//! [`GpuPower`] has approximate powers, logarithms and reciprocals, which the GPU's special
//! function unit computes in a few instructions, and a conversion to `u8`.

pub(crate) mod double;
pub(crate) mod hardware;
mod power;
pub(crate) mod single;

pub use power::GpuPower;

#[cfg(target_arch = "nvptx64")]
use {core::f32::math as math32, core::f64::math as math64};

/// Defines [`GpuFloat`] and both implementations. Each method names the functions that the GPU
/// calls for an `f32` and for an `f64`, and an example for its documentation. The CPU calls the
/// standard library's method.
macro_rules! gpu_float {
    ($(
        $(#[$doc:meta])+
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty: $gpu32:expr, $gpu64:expr
            => $example:expr;
    )+) => {
        /// The mathematical functions of the standard library, for `f32` and `f64` in a kernel.
        ///
        /// On the CPU the standard library's methods of the same names take precedence.
        ///
        /// ```
        /// use cuda_std::prelude::*;
        ///
        /// /// Returns the length of a vector, in a kernel for `f32` or `f64`.
        /// fn length<T: GpuFloat>(x: T, y: T) -> T {
        ///     x.hypot(y)
        /// }
        /// assert_eq!((length(3.0_f32, 4.0), length(3.0_f64, 4.0)), (5.0, 5.0));
        /// ```
        pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
            $(
                $(#[$doc])+
                #[doc = concat!(
                    "\n```\nuse cuda_std::prelude::*;\n\nassert!(",
                    stringify!($example),
                    ");\n```"
                )]
                #[must_use]
                fn $name(self $(, $argument: $type)*) -> $result;
            )+
        }

        impl GpuFloat for f32 {$(
            #[inline(always)]
            fn $name(self $(, $argument: $type)*) -> $result {
                #[cfg(target_arch = "nvptx64")]
                return $gpu32(self $(, $argument)*);
                #[cfg(not(target_arch = "nvptx64"))]
                f32::$name(self $(, $argument)*)
            }
        )+}

        impl GpuFloat for f64 {$(
            #[inline(always)]
            fn $name(self $(, $argument: $type)*) -> $result {
                #[cfg(target_arch = "nvptx64")]
                return $gpu64(self $(, $argument)*);
                #[cfg(not(target_arch = "nvptx64"))]
                f64::$name(self $(, $argument)*)
            }
        )+}
    };
}

gpu_float! {
    /// Returns the largest integer that is not greater than the number.
    floor() -> Self: math32::floor, math64::floor
        => (-1.5_f32).floor() == -2.0;
    /// Returns the smallest integer that is not less than the number.
    ceil() -> Self: math32::ceil, math64::ceil
        => 1.2_f32.ceil() == 2.0;
    /// Returns the nearest integer, with ties away from 0.
    round() -> Self: math32::round, math64::round
        => 2.5_f32.round() == 3.0;
    /// Returns the nearest integer, with ties to even.
    round_ties_even() -> Self: math32::round_ties_even, math64::round_ties_even
        => 2.5_f32.round_ties_even() == 2.0;
    /// Returns the integer part.
    trunc() -> Self: math32::trunc, math64::trunc
        => (-1.7_f32).trunc() == -1.0;
    /// Returns the fractional part, with the sign of the number.
    fract() -> Self: math32::fract, math64::fract
        => (-1.25_f32).fract() == -0.25;
    /// Returns the absolute value.
    abs() -> Self: f32::abs, f64::abs
        => (-3.0_f32).abs() == 3.0;
    /// Returns 1 with the sign of the number, or NaN if the number is NaN.
    signum() -> Self: f32::signum, f64::signum
        => (-0.0_f32).signum() == -1.0;
    /// Returns the number with the sign of `sign`.
    copysign(sign: Self) -> Self: f32::copysign, f64::copysign
        => 3.0_f32.copysign(-0.5) == -3.0;
    /// Returns `self * a + b`, rounded once.
    mul_add(a: Self, b: Self) -> Self: math32::mul_add, math64::mul_add
        => 2.0_f32.mul_add(3.0, 1.0) == 7.0;
    /// Returns the Euclidean quotient: the integer `n` for which `self - n * rhs` equals
    /// `self.rem_euclid(rhs)`.
    div_euclid(rhs: Self) -> Self: own32::div, own64::div
        => (-7.0_f32).div_euclid(2.0) == -4.0;
    /// Returns the least non-negative remainder of a division by `rhs`.
    rem_euclid(rhs: Self) -> Self: own32::rem, own64::rem
        => (-7.0_f32).rem_euclid(2.0) == 1.0;
    /// Raises the number to the integer power `n`.
    powi(n: i32) -> Self: powi::<f32>, powi::<f64>
        => 2.0_f32.powi(-3) == 0.125;
    /// Raises the number to the power `n`. A finite negative number gives NaN unless `n` is an
    /// integer or infinite.
    powf(n: Self) -> Self: single::powf, double::powf
        => (8.0_f32.powf(1.0 / 3.0) - 2.0).abs() < 1e-6;
    /// Returns the square root.
    sqrt() -> Self: math32::sqrt, math64::sqrt
        => 9.0_f32.sqrt() == 3.0;
    /// Returns e to the power of the number.
    exp() -> Self: single::exp, double::exp
        => (1.0_f32.exp() - 2.718_281_8).abs() < 1e-6;
    /// Returns 2 to the power of the number.
    exp2() -> Self: single::exp2, double::exp2
        => 10.0_f32.exp2() == 1024.0;
    /// Returns the natural logarithm.
    ln() -> Self: single::ln, double::ln
        => (10.0_f32.ln() - 2.302_585).abs() < 1e-6;
    /// Returns the logarithm to the base `base`.
    log(base: Self) -> Self: log::<f32>, log::<f64>
        => (81.0_f32.log(3.0) - 4.0).abs() < 1e-6;
    /// Returns the logarithm to the base 2.
    log2() -> Self: single::log2, double::log2
        => 0.125_f32.log2() == -3.0;
    /// Returns the logarithm to the base 10.
    log10() -> Self: single::log10, double::log10
        => (1000.0_f32.log10() - 3.0).abs() < 1e-6;
    /// Returns the cube root.
    cbrt() -> Self: single::cbrt, double::cbrt
        => ((-27.0_f32).cbrt() + 3.0).abs() < 1e-6;
    /// Returns √(`self`² + `other`²) without intermediate overflow.
    hypot(other: Self) -> Self: single::hypot, double::hypot
        => (3e30_f32.hypot(4e30) / 5e30 - 1.0).abs() < 1e-6;
    /// Returns the sine of an angle in radians.
    sin() -> Self: single::sin, double::sin
        => (0.5_f32.sin() - 0.479_425_55).abs() < 1e-6;
    /// Returns the cosine of an angle in radians.
    cos() -> Self: single::cos, double::cos
        => (0.5_f32.cos() - 0.877_582_55).abs() < 1e-6;
    /// Returns the tangent of an angle in radians.
    tan() -> Self: single::tan, double::tan
        => (0.5_f32.tan() - 0.546_302_5).abs() < 1e-6;
    /// Returns the arcsine in [-π/2, π/2].
    asin() -> Self: single::asin, double::asin
        => (1.0_f32.asin() - 1.570_796_4).abs() < 1e-6;
    /// Returns the arccosine in [0, π].
    acos() -> Self: single::acos, double::acos
        => ((-1.0_f32).acos() - 3.141_592_7).abs() < 1e-6;
    /// Returns the arctangent in [-π/2, π/2].
    atan() -> Self: single::atan, double::atan
        => (1.0_f32.atan() - 0.785_398_2).abs() < 1e-6;
    /// Returns the angle of the point (`other`, `self`) from the x axis, in [-π, π].
    atan2(other: Self) -> Self: single::atan2, double::atan2
        => ((-1.0_f32).atan2(-1.0) + 2.356_194_5).abs() < 1e-6;
    /// Returns the sine and the cosine of an angle in radians.
    sin_cos() -> (Self, Self): single::sin_cos, double::sin_cos
        => 0.0_f32.sin_cos() == (0.0, 1.0);
    /// Returns e to the power of the number, minus 1, accurately near 0.
    exp_m1() -> Self: single::exp_m1, double::exp_m1
        => 1e-10_f32.exp_m1() == 1e-10;
    /// Returns the natural logarithm of 1 plus the number, accurately near 0.
    ln_1p() -> Self: single::ln_1p, double::ln_1p
        => 1e-10_f32.ln_1p() == 1e-10;
    /// Returns the hyperbolic sine.
    sinh() -> Self: single::sinh, double::sinh
        => (1.0_f32.sinh() - 1.175_201_2).abs() < 1e-6;
    /// Returns the hyperbolic cosine.
    cosh() -> Self: single::cosh, double::cosh
        => (1.0_f32.cosh() - 1.543_080_6).abs() < 1e-6;
    /// Returns the hyperbolic tangent.
    tanh() -> Self: single::tanh, double::tanh
        => (1.0_f32.tanh() - 0.761_594_2).abs() < 1e-6;
    /// Returns the inverse hyperbolic sine.
    asinh() -> Self: single::asinh, double::asinh
        => (1.0_f32.asinh() - 0.881_373_6).abs() < 1e-6;
    /// Returns the inverse hyperbolic cosine.
    acosh() -> Self: single::acosh, double::acosh
        => (2.0_f32.acosh() - 1.316_957_9).abs() < 1e-6;
    /// Returns the inverse hyperbolic tangent.
    atanh() -> Self: single::atanh, double::atanh
        => (0.5_f32.atanh() - 0.549_306_15).abs() < 1e-6;
}

pub(crate) mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Raises `base` to the power `n` by repeated squaring. LLVM's `powi` calls a library function that
/// the GPU does not have.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline]
fn powi<T>(base: T, n: i32) -> T
where
    T: Copy + From<u8> + core::ops::MulAssign + core::ops::Div<Output = T>,
{
    let (mut square, mut power, mut rest) = (base, T::from(1), n.unsigned_abs());
    while rest != 0 {
        if rest & 1 != 0 {
            power *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if n < 0 { T::from(1) / power } else { power }
}

/// Returns the logarithm of `x` to the base `base`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn log<T: GpuFloat + core::ops::Div<Output = T>>(x: T, base: T) -> T {
    x.ln() / base.ln()
}

/// Defines the functions that `core` does not compute correctly on the GPU.
macro_rules! own {
    ($name:ident, $float:ident, $remainder:path) => {
        #[cfg(any(target_arch = "nvptx64", test))]
        mod $name {
            /// Returns the Euclidean remainder. `core` computes the remainder with `%`, which LLVM
            /// expands to a quotient and a product. The result is then wrong for a large quotient,
            /// and `inf % inf` is `inf`. Ours is exact.
            pub(super) fn rem(x: $float, y: $float) -> $float {
                let remainder = $remainder(x, y);
                if remainder < 0.0 { remainder + y.abs() } else { remainder }
            }

            pub(super) fn div(x: $float, y: $float) -> $float {
                #[cfg(target_arch = "nvptx64")]
                let quotient = core::$float::math::trunc(x / y);
                #[cfg(not(target_arch = "nvptx64"))]
                let quotient = (x / y).trunc();
                match $remainder(x, y) < 0.0 {
                    true if y > 0.0 => quotient - 1.0,
                    true => quotient + 1.0,
                    false => quotient,
                }
            }
        }
    };
}
own!(own32, f32, super::single::remainder);
own!(own64, f64, super::double::remainder);

#[cfg(test)]
mod tests {
    use super::powi;

    #[test]
    fn our_own_functions_are_those_of_std() {
        macro_rules! compare {
            ($float:ident, $ours:ident) => {
                let values =
                    [0.0, -0.0, 1.5, -2.25, 1e30, -1e30, 3e-39, $float::INFINITY, $float::NAN];
                for (x, y) in values.iter().flat_map(|&x| values.map(|y| (x, y))) {
                    let found = [super::$ours::rem(x, y), super::$ours::div(x, y)];
                    for (found, expected) in found.iter().zip([x.rem_euclid(y), x.div_euclid(y)]) {
                        let same = *found == expected || found.is_nan() && expected.is_nan();
                        assert!(same, "{x} by {y}: {found} instead of {expected}");
                    }
                }
            };
        }
        compare!(f32, own32);
        compare!(f64, own64);
    }

    #[test]
    fn integer_powers_are_products() {
        for n in -40..40_i32 {
            for x in [0.5_f64, -1.25, 3.0, 1.0 / 3.0, 0.0, -0.0] {
                let exact = x.powi(n);
                let found = powi(x, n);
                let is_near = (found - exact).abs() <= 1e-14 * exact.abs();
                assert!(is_near || found == exact, "{x}^{n}: {found} instead of {exact}");
            }
        }
        assert_eq!(powi(1.0_f32, i32::MIN), 1.0);
        assert_eq!(powi(2.0_f32, i32::MIN), 0.0);
        assert_eq!(powi(0.5_f32, -100), 2.0_f32.powi(100));
    }
}
