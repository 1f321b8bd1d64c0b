//! The functions that are the same for `f32` and `f64`: [`single`](crate::float::single) and
//! [`double`](crate::float::double) each compile them for their `Float`.

mod arithmetic;
mod error;
mod hyperbolic;
mod hypot;
mod inverse;
mod log_sum;
mod pow;
mod reduce;
mod remainder;
mod trig;

pub(crate) use error::{erf, erfc};
pub(crate) use hyperbolic::{acosh, asinh, tanh};
pub(crate) use hypot::hypot;
pub(crate) use inverse::{acos, asin, atan, atan2};
#[allow(unused_imports, reason = "only `single` needs `positive_powf`")]
pub(crate) use pow::{positive_powf, powf};
#[cfg(test)]
pub(crate) use remainder::remainder;
pub(crate) use remainder::{div_euclid, rem_euclid};
pub(crate) use trig::{cos, cospi, sin, sin_cos, sincospi, sinpi, tan};

pub(super) use arithmetic::{fma, polynomial, times_power};
pub(super) use log_sum::ln_1p_sum;
pub(super) use reduce::Reduced;

use super::{
    Float, GpuFloat, consts, exp, flip_sign, log, nearest, power_of_2, product, ratio, reciprocal,
    reduce_large, scale, split_integer, sqrt, sums, terms, upper, with_sign,
};
