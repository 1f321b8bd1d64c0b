//! Arrays: texels laid out by the driver, for textures and surfaces to read.
//!
//! An array has a width, for two dimensions a height, for three a depth. Layers, and the sides of a cube,
//! are counted by the depth. Host and device copy whole arrays here; kernels read them through
//! [`texture`](crate::texture) and [`surface`](crate::surface).

use std::ffi::c_uint;
use std::fmt;
use std::mem::{self, ManuallyDrop};

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::{CUarray_format as RawFormat, CUmemorytype};

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult};

/// The type of a channel of an array.
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
    /// Half precision. No [`ArrayPrimitive`]; copies take its bits as `u16`.
    F16,
    F32,
    /// No GPU has it: an array of this format cannot be made. Use [`U32`](Self::U32) with two channels.
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

    /// Converts the driver's format.
    ///
    /// # Panics
    /// Panics for a format that this enum lacks, such as `NV12`.
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
    /// Panics for [`F64`](Self::F64), which the driver lacks.
    #[must_use]
    pub fn to_raw(self) -> sys::CUarray_format {
        match self.try_to_raw() {
            Ok(raw) => raw,
            Err(_) => panic!("the driver has no arrays of f64; use U32 with two channels"),
        }
    }

    fn try_to_raw(self) -> CudaResult<sys::CUarray_format> {
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

/// A Rust type that is a channel of an array.
pub trait ArrayPrimitive: crate::private::Sealed + Copy + Default {
    /// Returns the channel's format.
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

bitflags::bitflags! {
    /// The kind of an array, and its uses.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ArrayObjectFlags: c_uint {
        /// Layers of one or two dimensions, as many as the depth.
        const LAYERED = sys::CUDA_ARRAY3D_LAYERED;
        /// A surface can be bound to the array.
        const SURFACE_LDST = sys::CUDA_ARRAY3D_SURFACE_LDST;
        /// The six sides of a cube; with [`LAYERED`](Self::LAYERED) of several cubes.
        const CUBEMAP = sys::CUDA_ARRAY3D_CUBEMAP;
        /// A texture that gathers can be bound to the array.
        const TEXTURE_GATHER = sys::CUDA_ARRAY3D_TEXTURE_GATHER;
    }
}

impl ArrayObjectFlags {
    /// Returns no flags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Size, format and kind of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescriptor {
    dims: [usize; 3],
    format: ArrayFormat,
    num_channels: c_uint,
    flags: ArrayObjectFlags,
}

impl ArrayDescriptor {
    /// Describes an array of width, height and depth. A height or depth of 0 leaves that dimension out.
    #[must_use]
    pub fn new(
        dims: [usize; 3],
        format: ArrayFormat,
        num_channels: c_uint,
        flags: ArrayObjectFlags,
    ) -> Self {
        Self { dims, format, num_channels, flags }
    }

    /// Describes an array of one channel without flags.
    #[must_use]
    pub fn from_dims_format(dims: [usize; 3], format: ArrayFormat) -> Self {
        Self::new(dims, format, 1, ArrayObjectFlags::default())
    }

    /// Converts the driver's description.
    ///
    /// # Panics
    /// Panics for a format that [`ArrayFormat`] lacks.
    #[must_use]
    pub fn from_raw(raw: sys::CUDA_ARRAY3D_DESCRIPTOR) -> Self {
        Self {
            dims: [raw.Width, raw.Height, raw.Depth],
            format: ArrayFormat::from_raw(raw.Format),
            num_channels: raw.NumChannels,
            flags: ArrayObjectFlags::from_bits_truncate(raw.Flags),
        }
    }

    fn to_raw(self) -> CudaResult<sys::CUDA_ARRAY3D_DESCRIPTOR> {
        let [width, height, depth] = self.dims;
        Ok(sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: self.format.try_to_raw()?,
            NumChannels: self.num_channels,
            Flags: self.flags.bits(),
        })
    }

    /// Returns width, height and depth.
    #[must_use]
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Sets width, height and depth.
    pub fn set_dims(&mut self, dims: [usize; 3]) {
        self.dims = dims;
    }

    /// Returns the width in texels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.dims[0]
    }

    /// Sets the width.
    pub fn set_width(&mut self, width: usize) {
        self.dims[0] = width;
    }

    /// Returns the height; 0 for one dimension.
    #[must_use]
    pub fn height(&self) -> usize {
        self.dims[1]
    }

    /// Sets the height.
    pub fn set_height(&mut self, height: usize) {
        self.dims[1] = height;
    }

    /// Returns the depth, or the number of layers; 0 for fewer dimensions.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.dims[2]
    }

    /// Sets the depth.
    pub fn set_depth(&mut self, depth: usize) {
        self.dims[2] = depth;
    }

    /// Returns the format of a channel.
    #[must_use]
    pub fn format(&self) -> ArrayFormat {
        self.format
    }

    /// Sets the format of a channel.
    pub fn set_format(&mut self, format: ArrayFormat) {
        self.format = format;
    }

    /// Returns the number of channels: 1, 2 or 4.
    #[must_use]
    pub fn num_channels(&self) -> c_uint {
        self.num_channels
    }

    /// Sets the number of channels.
    pub fn set_num_channels(&mut self, num_channels: c_uint) {
        self.num_channels = num_channels;
    }

    /// Returns the kind.
    #[must_use]
    pub fn flags(&self) -> ArrayObjectFlags {
        self.flags
    }

    /// Sets the kind.
    pub fn set_flags(&mut self, flags: ArrayObjectFlags) {
        self.flags = flags;
    }

    /// Bytes of a row.
    fn row_bytes(&self) -> usize {
        self.width() * self.num_channels as usize * self.format.mem_size()
    }

    /// Bytes of the whole array. It exists, so they do not overflow.
    fn bytes(&self) -> usize {
        self.row_bytes() * self.height().max(1) * self.depth().max(1)
    }
}

/// An array of the current context.
pub struct ArrayObject {
    handle: sys::CUarray,
    descriptor: ArrayDescriptor,
}

// SAFETY: the handle may be used from any thread; the driver locks.
unsafe impl Send for ArrayObject {}
// SAFETY: as above.
unsafe impl Sync for ArrayObject {}

impl ArrayObject {
    /// Makes an array with undefined content.
    ///
    /// # Errors
    /// Returns `NotSupported` for [`ArrayFormat::F64`], `InvalidValue` for a size, number of channels or
    /// combination of flags that the device does not have, or any other error of the driver.
    pub fn from_descriptor(descriptor: &ArrayDescriptor) -> CudaResult<Self> {
        let raw = descriptor.to_raw()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written, the description is complete.
        unsafe { driver::cuArray3DCreate_v2(&raw mut handle, &raw const raw) }?;
        Ok(Self { handle, descriptor: *descriptor })
    }

    /// Makes an array of width, height and depth. A height or depth of 0 leaves that dimension out.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor); so below.
    pub fn new(dims: [usize; 3], format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::default())
    }

    /// Makes an array of one dimension.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_1d(width: usize, format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::new([width, 0, 0], format, num_channels)
    }

    /// Makes an array of two dimensions, width and height.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_2d(dims: [usize; 2], format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::new([dims[0], dims[1], 0], format, num_channels)
    }

    /// Makes layers of two dimensions.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_layered(
        dims: [usize; 2],
        num_layers: usize,
        format: ArrayFormat,
        num_channels: c_uint,
    ) -> CudaResult<Self> {
        let dims = [dims[0], dims[1], num_layers];
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::LAYERED)
    }

    /// Makes layers of one dimension.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_layered_1d(
        width: usize,
        num_layers: usize,
        format: ArrayFormat,
        num_channels: c_uint,
    ) -> CudaResult<Self> {
        let dims = [width, 0, num_layers];
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::LAYERED)
    }

    /// Makes the six sides of a cube.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_cubemap(side: usize, format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::with_flags([side, side, 6], format, num_channels, ArrayObjectFlags::CUBEMAP)
    }

    /// Makes the sides of `num_layers` cubes.
    ///
    /// # Errors
    /// As [`from_descriptor`](Self::from_descriptor).
    pub fn new_layered_cubemap(
        side: usize,
        num_layers: usize,
        format: ArrayFormat,
        num_channels: c_uint,
    ) -> CudaResult<Self> {
        let flags = ArrayObjectFlags::CUBEMAP | ArrayObjectFlags::LAYERED;
        let sides = num_layers.checked_mul(6).ok_or(CudaError::InvalidValue)?;
        Self::with_flags([side, side, sides], format, num_channels, flags)
    }

    fn with_flags(
        dims: [usize; 3],
        format: ArrayFormat,
        num_channels: c_uint,
        flags: ArrayObjectFlags,
    ) -> CudaResult<Self> {
        Self::from_descriptor(&ArrayDescriptor::new(dims, format, num_channels, flags))
    }

    /// Returns size, format and kind.
    ///
    /// # Errors
    /// None; rust-cuda's signature.
    pub fn descriptor(&self) -> CudaResult<ArrayDescriptor> {
        Ok(self.descriptor)
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUarray {
        self.handle
    }

    /// Gives up the array, which the caller destroys.
    pub(crate) fn into_raw(self) -> sys::CUarray {
        ManuallyDrop::new(self).handle
    }

    /// Destroys the array and reports failure, which `Drop` cannot.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the array.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(array: Self) -> DropResult<Self> {
        // SAFETY: made once, destroyed once.
        match unsafe { driver::cuArrayDestroy(array.handle) } {
            Ok(()) => {
                mem::forget(array);
                Ok(())
            }
            Err(error) => Err((error, array)),
        }
    }

    /// Fills the array from the host and waits until that is done: row after row, slice after slice,
    /// without padding.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if the bytes of both differ in number.
    #[track_caller]
    pub fn copy_from<T: ArrayPrimitive, U: AsRef<[T]> + ?Sized>(
        &mut self,
        val: &U,
    ) -> CudaResult<()> {
        let values = val.as_ref();
        self.check_bytes(size_of_val(values));
        let (array, row) = (&self.descriptor, self.descriptor.row_bytes());
        // SAFETY: the array is alive, and both hold as many bytes, as just checked.
        unsafe {
            match (array.height(), array.depth()) {
                (0, 0) => driver::cuMemcpyHtoA_v2(self.handle, 0, values.as_ptr().cast(), row),
                (height, depth) => {
                    let copy = sys::CUDA_MEMCPY3D {
                        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
                        srcHost: values.as_ptr().cast(),
                        srcPitch: row,
                        srcHeight: height.max(1),
                        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
                        dstArray: self.handle,
                        WidthInBytes: row,
                        Height: height.max(1),
                        Depth: depth.max(1),
                        ..Default::default()
                    };
                    driver::cuMemcpy3D_v2(&raw const copy)
                }
            }
        }
    }

    /// Copies the array to the host and waits until that is done: row after row, slice after slice,
    /// without padding.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if the bytes of both differ in number.
    #[track_caller]
    pub fn copy_to<T: ArrayPrimitive, U: AsMut<[T]> + ?Sized>(
        &self,
        val: &mut U,
    ) -> CudaResult<()> {
        let values = val.as_mut();
        self.check_bytes(size_of_val(values));
        let (array, row) = (&self.descriptor, self.descriptor.row_bytes());
        // SAFETY: the array is alive, and both hold as many bytes, as just checked. Every pattern of bits
        // is a `T`.
        unsafe {
            match (array.height(), array.depth()) {
                (0, 0) => driver::cuMemcpyAtoH_v2(values.as_mut_ptr().cast(), self.handle, 0, row),
                (height, depth) => {
                    let copy = sys::CUDA_MEMCPY3D {
                        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
                        srcArray: self.handle,
                        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
                        dstHost: values.as_mut_ptr().cast(),
                        dstPitch: row,
                        dstHeight: height.max(1),
                        WidthInBytes: row,
                        Height: height.max(1),
                        Depth: depth.max(1),
                        ..Default::default()
                    };
                    driver::cuMemcpy3D_v2(&raw const copy)
                }
            }
        }
    }

    /// Returns the content, row after row, slice after slice.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if the array is no whole number of `T`.
    #[track_caller]
    pub fn as_host_vec<T: ArrayPrimitive>(&self) -> CudaResult<Vec<T>> {
        let mut values = vec![T::default(); self.descriptor.bytes() / size_of::<T>()];
        self.copy_to::<T, [T]>(&mut values)?;
        Ok(values)
    }

    #[track_caller]
    fn check_bytes(&self, bytes: usize) {
        let own = self.descriptor.bytes();
        assert!(own == bytes, "an array of {own} bytes is copied from or to {bytes} bytes");
    }
}

impl fmt::Debug for ArrayObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor.fmt(f)
    }
}

impl Drop for ArrayObject {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. A failure cannot be reported from here.
        let _ = unsafe { driver::cuArrayDestroy(self.handle) };
    }
}
