//! CUDA arrays, which store texels in a layout that the driver chooses. Kernels access arrays
//! through textures and surfaces.
//!
//! An array has a width, a height if it has at least two dimensions, and a depth if it has three.
//! In a layered array the depth is the number of layers; in a cube map it is the number of sides.
//! This module copies whole arrays between host and device. Kernels read arrays through
//! [`texture`](crate::texture) and [`surface`](crate::surface).
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::memory::array::{ArrayFormat, ArrayObject};
//!
//! let _context = cust::quick_init()?;
//! // Two rows of three texels with one channel.
//! let mut array = ArrayObject::new_2d([3, 2], ArrayFormat::U8, 1)?;
//! array.copy_from::<u8, _>(&[1, 2, 3, 4, 5, 6])?;
//! assert_eq!(array.as_host_vec::<u8>()?, [1, 2, 3, 4, 5, 6]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

mod descriptor;
mod format;

use std::ffi::c_uint;
use std::fmt;
use std::mem::{self, ManuallyDrop};

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUmemorytype;

pub use descriptor::{ArrayDescriptor, ArrayObjectFlags};
pub use format::{ArrayFormat, ArrayPrimitive};

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult};

/// A CUDA array, allocated in the context that was current when the array was created.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::array::{ArrayDescriptor, ArrayFormat, ArrayObject};
///
/// let _context = cust::quick_init()?;
/// let mut array = ArrayObject::new_1d(2, ArrayFormat::F32, 2)?;
/// array.copy_from::<f32, _>(&[1.0, 10.0, 2.0, 20.0])?;
/// let mut texels = [0.0_f32; 4];
/// array.copy_to::<f32, _>(&mut texels)?;
/// assert_eq!(texels, [1.0, 10.0, 2.0, 20.0]);
/// assert_eq!(array.descriptor()?.num_channels(), 2);
/// assert!(!array.as_raw().is_null());
/// ArrayObject::drop(array).map_err(|(error, _)| error)?;
///
/// // Other shapes: 3 dimensions, layers, and cubes with layers.
/// let volume = ArrayObject::new([4, 4, 4], ArrayFormat::U8, 4)?;
/// let layers = [
///     ArrayObject::new_layered([4, 4], 3, ArrayFormat::U8, 1)?,
///     ArrayObject::new_layered_1d(16, 3, ArrayFormat::U8, 1)?,
/// ];
/// let cubes = [
///     ArrayObject::new_cubemap(4, ArrayFormat::U8, 1)?,
///     ArrayObject::new_layered_cubemap(4, 2, ArrayFormat::U8, 1)?,
/// ];
/// assert_eq!(cubes[1].as_host_vec::<u8>()?.len(), 4 * 4 * 6 * 2);
///
/// let descriptor = ArrayDescriptor::from_dims_format([8, 8, 0], ArrayFormat::U16);
/// assert_eq!(ArrayObject::from_descriptor(&descriptor)?.descriptor()?.width(), 8);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub struct ArrayObject {
    handle: sys::CUarray,
    descriptor: ArrayDescriptor,
}

// SAFETY: any thread may use the handle; driver calls are thread-safe.
unsafe impl Send for ArrayObject {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for ArrayObject {}

impl ArrayObject {
    /// Creates an array with undefined contents.
    ///
    /// # Errors
    /// Returns `NotSupported` for [`ArrayFormat::F64`]. Returns `InvalidValue` if the device does
    /// not support the size, the number of channels or the combination of flags. Otherwise returns
    /// the driver's error, if any.
    pub fn from_descriptor(descriptor: &ArrayDescriptor) -> CudaResult<Self> {
        let raw = descriptor.to_raw()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: all required fields of the description are set, and the driver writes the handle
        // to a local variable.
        unsafe { driver::cuArray3DCreate_v2(&raw mut handle, &raw const raw) }?;
        Ok(Self { handle, descriptor: *descriptor })
    }

    /// Creates an array. `dims` is its width, height and depth in texels. A height or depth of 0
    /// omits that dimension.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new(dims: [usize; 3], format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::default())
    }

    /// Creates a one-dimensional array of `width` texels.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new_1d(width: usize, format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::new([width, 0, 0], format, num_channels)
    }

    /// Creates a two-dimensional array. `dims` is its width and height in texels.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new_2d(dims: [usize; 2], format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::new([dims[0], dims[1], 0], format, num_channels)
    }

    /// Creates a layered two-dimensional array.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new_layered(
        dims: [usize; 2],
        num_layers: usize,
        format: ArrayFormat,
        num_channels: c_uint,
    ) -> CudaResult<Self> {
        let dims = [dims[0], dims[1], num_layers];
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::LAYERED)
    }

    /// Creates a layered one-dimensional array.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new_layered_1d(
        width: usize,
        num_layers: usize,
        format: ArrayFormat,
        num_channels: c_uint,
    ) -> CudaResult<Self> {
        let dims = [width, 0, num_layers];
        Self::with_flags(dims, format, num_channels, ArrayObjectFlags::LAYERED)
    }

    /// Creates a cube map, an array of the six sides of a cube. A side has `side` × `side` texels.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
    pub fn new_cubemap(side: usize, format: ArrayFormat, num_channels: c_uint) -> CudaResult<Self> {
        Self::with_flags([side, side, 6], format, num_channels, ArrayObjectFlags::CUBEMAP)
    }

    /// Creates a layered cube map, an array of the six sides of each of `num_layers` cubes.
    ///
    /// # Errors
    /// Returns the errors of [`from_descriptor`](Self::from_descriptor).
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

    /// Returns the array's size, channel format, number of channels and flags.
    ///
    /// # Errors
    /// Never returns an error. The function returns a `CudaResult` only for compatibility with
    /// rust-cuda.
    pub fn descriptor(&self) -> CudaResult<ArrayDescriptor> {
        Ok(self.descriptor)
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUarray {
        self.handle
    }

    /// Returns the handle without destroying the array; the caller must destroy it.
    pub(crate) fn into_raw(self) -> sys::CUarray {
        ManuallyDrop::new(self).handle
    }

    /// Destroys the array and reports errors, unlike `Drop`.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the array.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(array: Self) -> DropResult<Self> {
        // SAFETY: the handle is alive and is destroyed only once.
        match unsafe { driver::cuArrayDestroy(array.handle) } {
            Ok(()) => {
                mem::forget(array);
                Ok(())
            }
            Err(error) => Err((error, array)),
        }
    }

    /// Copies `val` from host memory into the array and waits until the copy is done. The elements
    /// are ordered row by row and slice by slice, without padding.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if `val` and the array differ in size in bytes.
    #[track_caller]
    pub fn copy_from<T: ArrayPrimitive, U: AsRef<[T]> + ?Sized>(
        &mut self,
        val: &U,
    ) -> CudaResult<()> {
        let values = val.as_ref();
        self.check_bytes(size_of_val(values));
        let (array, row) = (&self.descriptor, self.descriptor.row_bytes());
        // SAFETY: the array is alive, and `check_bytes` ensures that `values` and the array have
        // the same size in bytes.
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

    /// Copies the array into `val` in host memory and waits until the copy is done. The elements
    /// are ordered row by row and slice by slice, without padding.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if `val` and the array differ in size in bytes.
    #[track_caller]
    pub fn copy_to<T: ArrayPrimitive, U: AsMut<[T]> + ?Sized>(
        &self,
        val: &mut U,
    ) -> CudaResult<()> {
        let values = val.as_mut();
        self.check_bytes(size_of_val(values));
        let (array, row) = (&self.descriptor, self.descriptor.row_bytes());
        // SAFETY: the array is alive, and `check_bytes` ensures that `values` and the array have
        // the same size in bytes. Every bit pattern is a valid `T`.
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

    /// Copies the contents of the array to the host, row by row and slice by slice.
    ///
    /// # Errors
    /// Returns any error of the driver.
    ///
    /// # Panics
    /// Panics if the size of the array is not a multiple of the size of `T`.
    #[track_caller]
    pub fn as_host_vec<T: ArrayPrimitive>(&self) -> CudaResult<Vec<T>> {
        let mut values = vec![T::default(); self.descriptor.bytes() / size_of::<T>()];
        self.copy_to::<T, [T]>(&mut values)?;
        Ok(values)
    }

    #[track_caller]
    fn check_bytes(&self, bytes: usize) {
        let own = self.descriptor.bytes();
        assert!(own == bytes, "an array of {own} bytes cannot be copied from or to {bytes} bytes");
    }
}

impl fmt::Debug for ArrayObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor.fmt(f)
    }
}

impl Drop for ArrayObject {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
        let _ = unsafe { driver::cuArrayDestroy(self.handle) };
    }
}
