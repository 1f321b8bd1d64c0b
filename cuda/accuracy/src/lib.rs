//! A kernel for each mathematical function of `cuda_std` and each float type, named like
//! `sin_f32`. `compare.cu` measures their errors beside those of nvcc's functions, and `table.py`
//! counts their instructions. `cuda/doc/maths.md` has the results and the commands.
//!
//! A kernel is as short as it can be, so that its instructions are those of the function: each
//! thread computes one element, and the grid has exactly one thread per element.

use cuda_std::prelude::*;

/// Defines a kernel for `f32` and one for `f64`.
macro_rules! kernels {
    (|$x:ident| $($f32:ident, $f64:ident: $result:expr;)+) => {$(
        kernels!(@one $f32, f32, $x, $result);
        kernels!(@one $f64, f64, $x, $result);
    )+};
    (@one $kernel:ident, $float:ty, $x:ident, $result:expr) => {
        /// Writes the result for each element of `x`.
        ///
        /// # Safety
        /// `x` and `out` have an element for each thread.
        #[kernel]
        pub unsafe fn $kernel(x: *const $float, out: *mut $float) {
            let i = thread::index_1d() as usize;
            // SAFETY: the caller ensures that the element exists.
            unsafe {
                let $x = *x.add(i);
                *out.add(i) = $result;
            }
        }
    };
    (|$x:ident, $y:ident| $($f32:ident, $f64:ident: $result:expr;)+) => {$(
        kernels!(@two $f32, f32, $x, $y, $result);
        kernels!(@two $f64, f64, $x, $y, $result);
    )+};
    (@two $kernel:ident, $float:ty, $x:ident, $y:ident, $result:expr) => {
        /// Writes the result for each pair of elements of `x` and `y`.
        ///
        /// # Safety
        /// `x`, `y` and `out` have an element for each thread.
        #[kernel]
        pub unsafe fn $kernel(x: *const $float, y: *const $float, out: *mut $float) {
            let i = thread::index_1d() as usize;
            // SAFETY: the caller ensures that the elements exist.
            unsafe {
                let ($x, $y) = (*x.add(i), *y.add(i));
                *out.add(i) = $result;
            }
        }
    };
    (|$x:ident| pair $($f32:ident, $f64:ident: $result:expr;)+) => {$(
        kernels!(@pair $f32, f32, $x, $result);
        kernels!(@pair $f64, f64, $x, $result);
    )+};
    (@pair $kernel:ident, $float:ty, $x:ident, $result:expr) => {
        /// Writes both results for each element of `x`.
        ///
        /// # Safety
        /// `x` has an element for each thread, and `out` has two.
        #[kernel]
        pub unsafe fn $kernel(x: *const $float, out: *mut $float) {
            let i = thread::index_1d() as usize;
            // SAFETY: the caller ensures that the elements exist.
            unsafe {
                let $x = *x.add(i);
                (*out.add(2 * i), *out.add(2 * i + 1)) = $result;
            }
        }
    };
}

kernels! { |x|
    copy_f32, copy_f64: x;
    sin_f32, sin_f64: x.sin();
    cos_f32, cos_f64: x.cos();
    tan_f32, tan_f64: x.tan();
    asin_f32, asin_f64: x.asin();
    acos_f32, acos_f64: x.acos();
    atan_f32, atan_f64: x.atan();
    sinpi_f32, sinpi_f64: x.sinpi();
    cospi_f32, cospi_f64: x.cospi();
    exp_f32, exp_f64: x.exp();
    exp2_f32, exp2_f64: x.exp2();
    expm1_f32, expm1_f64: x.exp_m1();
    log_f32, log_f64: x.ln();
    log2_f32, log2_f64: x.log2();
    log10_f32, log10_f64: x.log10();
    log1p_f32, log1p_f64: x.ln_1p();
    sinh_f32, sinh_f64: x.sinh();
    cosh_f32, cosh_f64: x.cosh();
    tanh_f32, tanh_f64: x.tanh();
    asinh_f32, asinh_f64: x.asinh();
    acosh_f32, acosh_f64: x.acosh();
    atanh_f32, atanh_f64: x.atanh();
    cbrt_f32, cbrt_f64: x.cbrt();
    rcbrt_f32, rcbrt_f64: x.rcbrt();
    erf_f32, erf_f64: x.error_function();
    erfc_f32, erfc_f64: x.complementary_error_function();
}

kernels! { |x, y|
    pow_f32, pow_f64: x.powf(y);
    atan2_f32, atan2_f64: x.atan2(y);
    hypot_f32, hypot_f64: x.hypot(y);
    rem_f32, rem_f64: x.rem_euclid(y);
}

kernels! { |x| pair
    sincos_f32, sincos_f64: x.sin_cos();
    sincospi_f32, sincospi_f64: x.sincospi();
}
