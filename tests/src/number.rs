//! The number types that resampling supports, converted from and to f64.

use std::fmt::Debug;

use bytemuck::Pod;
use half::{bf16, f16};

/// A number type that can be resampled.
pub trait Number: Pod + PartialEq + Debug {
    /// Returns the nearest number.
    fn from_f64(value: f64) -> Self;
    /// Returns the number, which f64 represents exactly.
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($($type:ty: $from:expr),+) => {
        $(impl Number for $type {
            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            fn to_f64(self) -> f64 {
                self.into()
            }
        })+
    };
}
number!(f64: |value| value, f32: |value| value as f32, bf16: bf16::from_f64, f16: f16::from_f64);
