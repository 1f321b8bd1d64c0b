//! Memory on devices and on the host, and copies between them.
//!
//! | type | location | contents |
//! |---|---|---|
//! | [`DeviceBuffer`], [`DeviceSlice`] | device | contiguous elements |
//! | [`DeviceBox`] | device | one value |
//! | [`LockedBuffer`], [`LockedBox`] | host, page-locked for fast copies | elements, one value |
//! | [`UnifiedBuffer`], [`UnifiedBox`] | host or device, migrates on use | elements, one value |
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::memory::{CopyDestination, DeviceBuffer, LockedBuffer, UnifiedBox};
//!
//! let _context = cust::quick_init()?;
//! // Copies from and to page-locked memory are faster.
//! let mut host = LockedBuffer::from_slice(&[1, 2, 3])?;
//! let mut buffer = DeviceBuffer::from_slice(&host)?;
//! buffer.copy_from(&[4, 5, 6])?;
//! buffer.copy_to(&mut *host)?;
//! assert_eq!(host[..], [4, 5, 6]);
//!
//! // Host and kernels access the same value.
//! let mut count = UnifiedBox::new(1)?;
//! *count += 1;
//! assert_eq!(*count, 2);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

mod device;
mod host;
mod malloc;
mod pointer;

use std::ffi::c_void;

use cust_raw::driver_sys as sys;

pub use cust_core::_hidden::DeviceCopy;
pub use cust_derive::DeviceCopy;

pub use bytemuck;
pub use cuda_std::launch::DevicePointer;

pub use device::*;
pub use host::{LockedBox, LockedBuffer, UnifiedBox, UnifiedBuffer};
pub use malloc::*;
pub use pointer::UnifiedPointer;

use crate::driver;
use crate::error::CudaResult;

/// A buffer whose elements a kernel can access.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DevicePointer, GpuBuffer};
/// use cust::util::SliceExt;
///
/// /// Returns the two arguments of a launch for a parameter of type `&[f32]`.
/// fn arguments(buffer: &impl GpuBuffer<f32>) -> (DevicePointer<f32>, usize) {
///     (buffer.as_device_ptr(), buffer.len())
/// }
///
/// let _context = cust::quick_init()?;
/// assert_eq!(arguments(&[1.0, 2.0].as_dbuf()?).1, 2);
/// assert_eq!(arguments(&[1.0, 2.0, 3.0].as_unified_buf()?).1, 3);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[expect(clippy::len_without_is_empty, reason = "rust-cuda's trait")]
pub trait GpuBuffer<T: DeviceCopy>: private::Sealed {
    /// Returns the address of the first element.
    fn as_device_ptr(&self) -> DevicePointer<T>;

    /// Returns the number of elements.
    fn len(&self) -> usize;
}

impl<T: DeviceCopy> GpuBuffer<T> for DeviceBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        self.as_slice().as_device_ptr()
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

impl<T: DeviceCopy> GpuBuffer<T> for UnifiedBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from(self.as_ptr())
    }

    fn len(&self) -> usize {
        (**self).len()
    }
}

/// A value that a kernel can access.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBox, GpuBox, UnifiedBox};
///
/// let _context = cust::quick_init()?;
/// let (device, unified) = (DeviceBox::new(&1.5)?, UnifiedBox::new(2.5)?);
/// assert!(!GpuBox::as_device_ptr(&device).is_null());
/// assert!(!GpuBox::as_device_ptr(&unified).is_null());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait GpuBox<T: DeviceCopy>: private::Sealed {
    /// Returns the address of the value.
    fn as_device_ptr(&self) -> DevicePointer<T>;
}

impl<T: DeviceCopy> GpuBox<T> for DeviceBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DeviceBox::as_device_ptr(self)
    }
}

impl<T: DeviceCopy> GpuBox<T> for UnifiedBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from(self.as_unified_ptr().as_raw())
    }
}

/// A range of bytes in device memory.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBuffer, DeviceMemory};
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::<f64>::zeroed(3)?;
/// assert_eq!(buffer.size_in_bytes(), 24);
/// assert_eq!(buffer.as_raw_ptr(), buffer.as_device_ptr().as_raw());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait DeviceMemory {
    /// Returns the address of the first byte.
    fn as_raw_ptr(&self) -> sys::CUdeviceptr;

    /// Returns the number of bytes.
    fn size_in_bytes(&self) -> usize;
}

impl<T: DeviceCopy> DeviceMemory for DeviceBox<T> {
    fn as_raw_ptr(&self) -> sys::CUdeviceptr {
        DeviceBox::as_device_ptr(self).as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceBuffer<T> {
    fn as_raw_ptr(&self) -> sys::CUdeviceptr {
        self.as_slice().as_raw_ptr()
    }

    fn size_in_bytes(&self) -> usize {
        self.as_slice().size_in_bytes()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceSlice<T> {
    fn as_raw_ptr(&self) -> sys::CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>() * self.len()
    }
}

mod private {
    use super::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBox, UnifiedBuffer};

    pub trait Sealed {}
    impl<T: DeviceCopy> Sealed for UnifiedBuffer<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBuffer<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBox<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBox<T> {}
}

/// Copies like [`memcpy_htod`], but from device to device.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `bytes` bytes.
pub(crate) unsafe fn copy_across(
    to: sys::CUdeviceptr,
    from: sys::CUdeviceptr,
    bytes: usize,
) -> CudaResult<()> {
    match bytes {
        0 => Ok(()),
        // SAFETY: the caller upholds this function's safety contract.
        _ => unsafe { driver::cuMemcpyDtoD_v2(to, from, bytes) },
    }
}

/// Copies `size` bytes from host to device and waits for the copy. If `size` is 0, the function does
/// not call the driver.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBuffer, DeviceMemory, memcpy_htod};
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::<u32>::zeroed(2)?;
/// let values = [7_u32, 8];
/// // SAFETY: both sides have 8 bytes.
/// unsafe { memcpy_htod(buffer.as_raw_ptr(), values.as_ptr().cast(), 8) }?;
/// assert_eq!(buffer.as_host_vec()?, [7, 8]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// `src` must be valid for reads and `dst` for writes of `size` bytes.
///
/// # Errors
/// Returns the driver's error.
pub unsafe fn memcpy_htod(
    dst: sys::CUdeviceptr,
    src: *const c_void,
    size: usize,
) -> CudaResult<()> {
    match size {
        0 => Ok(()),
        // SAFETY: the caller upholds this function's safety contract.
        _ => unsafe { driver::cuMemcpyHtoD_v2(dst, src, size) },
    }
}

/// Copies like [`memcpy_htod`], but from device to host.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBuffer, DeviceMemory, memcpy_dtoh};
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::from_slice(&[7_u32, 8])?;
/// let mut values = [0_u32; 2];
/// // SAFETY: both sides have 8 bytes.
/// unsafe { memcpy_dtoh(values.as_mut_ptr().cast(), buffer.as_raw_ptr(), 8) }?;
/// assert_eq!(values, [7, 8]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// `src` must be valid for reads and `dst` for writes of `size` bytes.
///
/// # Errors
/// Returns the driver's error.
pub unsafe fn memcpy_dtoh(dst: *mut c_void, src: sys::CUdeviceptr, size: usize) -> CudaResult<()> {
    match size {
        0 => Ok(()),
        // SAFETY: the caller upholds this function's safety contract.
        _ => unsafe { driver::cuMemcpyDtoH_v2(dst, src, size) },
    }
}

/// Returns the free and the total device memory in bytes.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// let _context = cust::quick_init()?;
/// let (free, total) = cust::memory::mem_get_info()?;
/// assert!(free <= total);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Errors
/// Returns an error if no context is current, or the driver's error.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the driver writes the results to local variables.
    unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
    Ok((free, total))
}
