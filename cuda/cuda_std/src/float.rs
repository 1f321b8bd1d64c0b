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
/// calls for an `f32` and for an `f64`. The CPU calls the
/// standard library's method.
macro_rules! gpu_float {
    ($(
        $(#[$doc:meta])+
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty: $gpu32:expr, $gpu64:expr;
    )+) => {
        /// The mathematical functions of the standard library, for `f32` and `f64` in a kernel.
        ///
        /// On the CPU the standard library's methods of the same names take precedence.
        pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
            $(
                $(#[$doc])+
                fn $name(self $(, $argument: $type)*) -> $result;
            )+
        }

        gpu_float!(@impl f32: $($name($($argument: $type),*) -> $result: $gpu32;)+);
        gpu_float!(@impl f64: $($name($($argument: $type),*) -> $result: $gpu64;)+);
    };
    (@impl $float:ident: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty: $gpu:expr;)+) => {
        impl GpuFloat for $float {$(
            #[inline(always)]
            fn $name(self $(, $argument: $type)*) -> $result {
                #[cfg(target_arch = "nvptx64")]
                return $gpu(self $(, $argument)*);
                #[cfg(not(target_arch = "nvptx64"))]
                $float::$name(self $(, $argument)*)
            }
        )+}
    };
}

gpu_float! {
    /// Returns the largest integer that is not greater than the number.
    floor() -> Self: math32::floor, math64::floor;
    /// Returns the smallest integer that is not less than the number.
    ceil() -> Self: math32::ceil, math64::ceil;
    /// Returns the nearest integer, with ties away from 0.
    round() -> Self: math32::round, math64::round;
    /// Returns the nearest integer, with ties to even.
    round_ties_even() -> Self: math32::round_ties_even, math64::round_ties_even;
    /// Returns the integer part.
    trunc() -> Self: math32::trunc, math64::trunc;
    /// Returns the fractional part, with the sign of the number.
    fract() -> Self: math32::fract, math64::fract;
    /// Returns the absolute value.
    abs() -> Self: f32::abs, f64::abs;
    /// Returns 1 with the sign of the number, or NaN if the number is NaN.
    signum() -> Self: f32::signum, f64::signum;
    /// Returns the number with the sign of `sign`.
    copysign(sign: Self) -> Self: f32::copysign, f64::copysign;
    /// Returns `self * a + b`, rounded once.
    mul_add(a: Self, b: Self) -> Self: math32::mul_add, math64::mul_add;
    /// Returns the Euclidean quotient: the integer `n` for which `self - n * rhs` equals
    /// `self.rem_euclid(rhs)`.
    div_euclid(rhs: Self) -> Self: single::div_euclid, double::div_euclid;
    /// Returns the least non-negative remainder of a division by `rhs`.
    rem_euclid(rhs: Self) -> Self: single::rem_euclid, double::rem_euclid;
    /// Raises the number to the integer power `n`.
    powi(n: i32) -> Self: powi::<f32>, powi::<f64>;
    /// Raises the number to the power `n`. A finite negative number gives NaN unless `n` is an
    /// integer or infinite.
    powf(n: Self) -> Self: single::powf, double::powf;
    /// Returns the square root.
    sqrt() -> Self: math32::sqrt, math64::sqrt;
    /// Returns e to the power of the number.
    exp() -> Self: single::exp, double::exp;
    /// Returns 2 to the power of the number.
    exp2() -> Self: single::exp2, double::exp2;
    /// Returns the natural logarithm.
    ln() -> Self: single::ln, double::ln;
    /// Returns the logarithm to the base `base`.
    log(base: Self) -> Self: log::<f32>, log::<f64>;
    /// Returns the logarithm to the base 2.
    log2() -> Self: single::log2, double::log2;
    /// Returns the logarithm to the base 10.
    log10() -> Self: single::log10, double::log10;
    /// Returns the cube root.
    cbrt() -> Self: single::cbrt, double::cbrt;
    /// Returns √(`self`² + `other`²) without intermediate overflow.
    hypot(other: Self) -> Self: single::hypot, double::hypot;
    /// Returns the sine of an angle in radians.
    sin() -> Self: single::sin, double::sin;
    /// Returns the cosine of an angle in radians.
    cos() -> Self: single::cos, double::cos;
    /// Returns the tangent of an angle in radians.
    tan() -> Self: single::tan, double::tan;
    /// Returns the arcsine in [-π/2, π/2].
    asin() -> Self: single::asin, double::asin;
    /// Returns the arccosine in [0, π].
    acos() -> Self: single::acos, double::acos;
    /// Returns the arctangent in [-π/2, π/2].
    atan() -> Self: single::atan, double::atan;
    /// Returns the angle of the point (`other`, `self`) from the x axis, in [-π, π].
    atan2(other: Self) -> Self: single::atan2, double::atan2;
    /// Returns the sine and the cosine of an angle in radians.
    sin_cos() -> (Self, Self): single::sin_cos, double::sin_cos;
    /// Returns e to the power of the number, minus 1, accurately near 0.
    exp_m1() -> Self: single::exp_m1, double::exp_m1;
    /// Returns the natural logarithm of 1 plus the number, accurately near 0.
    ln_1p() -> Self: single::ln_1p, double::ln_1p;
    /// Returns the hyperbolic sine.
    sinh() -> Self: single::sinh, double::sinh;
    /// Returns the hyperbolic cosine.
    cosh() -> Self: single::cosh, double::cosh;
    /// Returns the hyperbolic tangent.
    tanh() -> Self: single::tanh, double::tanh;
    /// Returns the inverse hyperbolic sine.
    asinh() -> Self: single::asinh, double::asinh;
    /// Returns the inverse hyperbolic cosine.
    acosh() -> Self: single::acosh, double::acosh;
    /// Returns the inverse hyperbolic tangent.
    atanh() -> Self: single::atanh, double::atanh;
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
                    let found = [super::$ours::rem_euclid(x, y), super::$ours::div_euclid(x, y)];
                    for (found, expected) in found.iter().zip([x.rem_euclid(y), x.div_euclid(y)]) {
                        let same = *found == expected || found.is_nan() && expected.is_nan();
                        assert!(same, "{x} by {y}: {found} instead of {expected}");
                    }
                }
            };
        }
        compare!(f32, single);
        compare!(f64, double);
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
