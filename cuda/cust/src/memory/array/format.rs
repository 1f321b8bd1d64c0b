//! Channel formats of arrays, and the Rust types that match them.

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUarray_format as RawFormat;

use crate::error::{CudaError, CudaResult};

/// The data type of one channel of an array's texels.
///
/// ```
/// use cust::memory::array::ArrayFormat;
///
/// assert_eq!(ArrayFormat::F16.mem_size(), 2);
/// assert_eq!(ArrayFormat::from_raw(ArrayFormat::U32.to_raw()), ArrayFormat::U32);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "Rust's types")]
pub enum ArrayFormat {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
    /// 16-bit floating point. No Rust type implements [`ArrayPrimitive`] with this format; copy the
    /// bits as `u16`.
    F16,
    F32,
    /// 64-bit floating point. No GPU supports this format in an array, so creating the array fails.
    /// To store an `f64`, use [`U32`](Self::U32) with two channels.
    F64,
}

impl ArrayFormat {
    /// Returns the size of a channel in bytes.
    #[must_use]
    pub fn mem_size(&self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Converts from the driver's format.
    ///
    /// # Panics
    /// Panics for a format without a variant in this enum, such as `NV12`.
    #[must_use]
    pub fn from_raw(raw: sys::CUarray_format) -> Self {
        match raw {
            RawFormat::CU_AD_FORMAT_UNSIGNED_INT8 => Self::U8,
            RawFormat::CU_AD_FORMAT_UNSIGNED_INT16 => Self::U16,
            RawFormat::CU_AD_FORMAT_UNSIGNED_INT32 => Self::U32,
            RawFormat::CU_AD_FORMAT_SIGNED_INT8 => Self::I8,
            RawFormat::CU_AD_FORMAT_SIGNED_INT16 => Self::I16,
            RawFormat::CU_AD_FORMAT_SIGNED_INT32 => Self::I32,
            RawFormat::CU_AD_FORMAT_HALF => Self::F16,
            RawFormat::CU_AD_FORMAT_FLOAT => Self::F32,
            other => panic!("array format {} of the driver is not supported", other.0),
        }
    }

    /// Converts to the driver's format.
    ///
    /// # Panics
    /// Panics for [`F64`](Self::F64), because the driver has no such format.
    #[must_use]
    pub fn to_raw(self) -> sys::CUarray_format {
        match self.try_to_raw() {
            Ok(raw) => raw,
            Err(_) => {
                panic!("the driver does not support arrays of F64; use U32 with two channels")
            }
        }
    }

    pub(super) fn try_to_raw(self) -> CudaResult<sys::CUarray_format> {
        Ok(match self {
            Self::U8 => RawFormat::CU_AD_FORMAT_UNSIGNED_INT8,
            Self::U16 => RawFormat::CU_AD_FORMAT_UNSIGNED_INT16,
            Self::U32 => RawFormat::CU_AD_FORMAT_UNSIGNED_INT32,
            Self::I8 => RawFormat::CU_AD_FORMAT_SIGNED_INT8,
            Self::I16 => RawFormat::CU_AD_FORMAT_SIGNED_INT16,
            Self::I32 => RawFormat::CU_AD_FORMAT_SIGNED_INT32,
            Self::F16 => RawFormat::CU_AD_FORMAT_HALF,
            Self::F32 => RawFormat::CU_AD_FORMAT_FLOAT,
            Self::F64 => return Err(CudaError::NotSupported),
        })
    }
}

/// A Rust type with the same data type as a channel of an array.
///
/// ```
/// use cust::memory::array::{ArrayFormat, ArrayPrimitive};
///
/// assert_eq!(i16::array_format(), ArrayFormat::I16);
/// assert_eq!(f32::array_format(), ArrayFormat::F32);
/// ```
pub trait ArrayPrimitive: crate::private::Sealed + Copy + Default {
    /// Returns the channel format that corresponds to this type.
    fn array_format() -> ArrayFormat;
}

macro_rules! primitives {
    ($($type:ty: $format:ident,)+) => {$(
        impl crate::private::Sealed for $type {}

        impl ArrayPrimitive for $type {
            fn array_format() -> ArrayFormat {
                ArrayFormat::$format
            }
        }
    )+};
}

primitives! {
    u8: U8,
    u16: U16,
    u32: U32,
    i8: I8,
    i16: I16,
    i32: I32,
    f32: F32,
    f64: F64,
}
