//! Every function of `GpuFloat` and `FloatExt`, in kernels that select a function by its number.

use cuda_std::prelude::*;

use crate::global_rank;

/// Defines a list of functions of `x` and `y`. For `f32` and for `f64`, defines a kernel that
/// applies function number `function` to each pair.
macro_rules! functions {
    ($names:ident, $kernel32:ident, $kernel64:ident, |$x:ident, $y:ident| $($result:expr;)+) => {
        /// The source text of each function. The position in the list is the function's number.
        pub const $names: &[&str] = &[$(stringify!($result)),+];
        functions!(@kernel $kernel32, f32, |$x, $y| $($result;)+);
        functions!(@kernel $kernel64, f64, |$x, $y| $($result;)+);
    };
    (@kernel $kernel:ident, $float:ty, |$x:ident, $y:ident| $($result:expr;)+) => {
        /// Applies function number `function` to each pair of `x` and `y`.
        #[kernel]
        pub fn $kernel(x: Slice<$float>, y: Slice<$float>, out: SliceMut<$float>, function: u32) {
            let at = global_rank();
            if at < x.len().min(y.len()).min(out.len()) {
                // SAFETY: `at` is in bounds of `x` and `y`, as checked above.
                let ($x, $y) = unsafe { (x.load(at), y.load(at)) };
                let mut number = 0..;
                let mut result = <$float>::NAN;
                $(
                    if number.next() == Some(function) {
                        result = $result;
                    }
                )+
                // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
                unsafe { out.store(at, result) };
            }
        }
    };
}

functions! {
    FLOAT, maths_f32, maths_f64, |x, y|
    x.floor();
    x.ceil();
    x.round();
    x.round_ties_even();
    x.trunc();
    x.fract();
    x.abs();
    x.signum();
    x.copysign(y);
    x.mul_add(y, x);
    x.div_euclid(y);
    x.rem_euclid(y);
    x.powi(7);
    x.powi(-3);
    x.powf(y);
    x.sqrt();
    x.exp();
    x.exp2();
    x.ln();
    x.log(y);
    x.log2();
    x.log10();
    x.cbrt();
    x.hypot(y);
    x.sin();
    x.cos();
    x.tan();
    x.asin();
    x.acos();
    x.atan();
    x.atan2(y);
    x.sin_cos().0;
    x.sin_cos().1;
    x.exp_m1();
    x.ln_1p();
    x.sinh();
    x.cosh();
    x.tanh();
    x.asinh();
    x.acosh();
    x.atanh();
}

functions! {
    SPECIAL, special_f32, special_f64, |x, y|
    FloatExt::cospi(x);
    FloatExt::error_function(x);
    FloatExt::complementary_error_function(x);
    FloatExt::inv_complementary_error_function(x);
    FloatExt::scaled_complementary_error_function(x);
    FloatExt::frexp(x).0;
    FloatExt::frexp(x).1 as _;
    FloatExt::unbiased_exp(x) as _;
    FloatExt::j0(x);
    FloatExt::j1(x);
    FloatExt::jn(x, 3);
    FloatExt::ldexp(x, 5);
    FloatExt::log_gamma(x);
    FloatExt::log1p(x);
    FloatExt::norm_cdf(x);
    FloatExt::inv_norm_cdf(x);
    FloatExt::rcbrt(x);
    FloatExt::saturate(x);
    FloatExt::scale_by_n(x, -5);
    FloatExt::sincospi(x).0;
    FloatExt::sincospi(y).1;
    FloatExt::sinpi(x);
    FloatExt::gamma(x);
    FloatExt::y0(x);
    FloatExt::y1(x);
    FloatExt::yn(x, 3);
}
