//! [`DeviceBox`], which owns one value in device memory.

use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr;

use bytemuck::Zeroable;
use cust_raw::driver_sys as sys;

use super::{AsyncCopyDestination, CopyDestination};
use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::memory::{
    DeviceCopy, DevicePointer, copy_across, copy_in, copy_out, cuda_free, cuda_free_async,
    cuda_malloc, cuda_malloc_async,
};
use crate::stream::Stream;

/// A value of type `T` in device memory. If `T` is zero-sized, no memory is allocated and the
/// address is null.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{CopyDestination, DeviceBox};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let mut value = DeviceBox::new(&1.5)?;
/// value.copy_from(&2.5)?;
/// assert_eq!(value.as_host_value()?, 2.5);
/// assert_eq!(DeviceBox::<u32>::zeroed()?.as_host_value()?, 0);
///
/// // Ownership can pass to another library and back.
/// let address = value.as_device_ptr();
/// let pointer = DeviceBox::into_device(value);
/// assert_eq!(pointer, address);
/// // SAFETY: the pointers come from boxes that released their memory.
/// let value = unsafe {
///     let value = DeviceBox::from_device(pointer);
///     DeviceBox::<f64>::from_raw(DeviceBox::into_device(value).as_raw())
/// };
/// DeviceBox::drop(value).map_err(|(error, _)| error)?;
///
/// // In stream order:
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: only the stream's work uses the boxes until it is done, and nothing reads the last
/// // two.
/// let boxes = unsafe {
///     [
///         DeviceBox::new_async(&7, &stream)?,
///         DeviceBox::zeroed_async(&stream)?,
///         DeviceBox::uninitialized_async(&stream)?,
///         DeviceBox::uninitialized()?,
///     ]
/// };
/// stream.synchronize()?;
/// assert_eq!((boxes[0].as_host_value()?, boxes[1].as_host_value()?), (7, 0));
/// for one in boxes {
///     one.drop_async(&stream)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    pointer: DevicePointer<T>,
}

// SAFETY: the box is the only owner of its device memory.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Copies `value` to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: &T) -> CudaResult<Self> {
        // SAFETY: the code below initialises the value before anything reads it.
        let mut made = unsafe { Self::uninitialized() }?;
        made.copy_from(value)?;
        Ok(made)
    }

    /// Copies `value` to the device in stream order.
    ///
    /// # Safety
    /// Until the stream's work is done, `value` must stay alive and unchanged, and only work of the
    /// same stream may use the returned box.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn new_async(value: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let mut made = Self::uninitialized_async(stream)?;
            made.async_copy_from(value, stream)?;
            Ok(made)
        }
    }

    /// Frees the memory after the work submitted to `stream` so far, without waiting for that work.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        match this.pointer.is_null() {
            true => Ok(()),
            // SAFETY: the allocation is live and is freed only once.
            false => unsafe { cuda_free_async(stream, this.pointer) },
        }
    }

    /// Copies the value to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: `self.pointer` points to a valid `T`, and the copy initialises `value` with it.
        unsafe {
            copy_out(value.as_mut_ptr(), self.pointer.as_raw(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }

    /// Allocates memory for one value and leaves its bytes undefined; on the CPU each byte is
    /// `0x7b`.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        let pointer = match size_of::<T>() {
            0 => DevicePointer::null(),
            // SAFETY: the memory is owned by the returned box, which frees it when dropped.
            _ => unsafe { cuda_malloc(1) }?,
        };
        Ok(Self { pointer })
    }

    /// Allocates like [`uninitialized`](Self::uninitialized), but in stream order.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it. Only work that `stream` runs after
    /// the allocation may use the value.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        let pointer = match size_of::<T>() {
            0 => DevicePointer::null(),
            // SAFETY: the memory is owned by the returned box, which frees it when dropped.
            _ => unsafe { cuda_malloc_async(stream, 1) }?,
        };
        Ok(Self { pointer })
    }

    /// Takes ownership of the device memory at `pointer`.
    ///
    /// # Safety
    /// `pointer` must be the address that the driver returned for an allocation. The allocation
    /// must contain a valid `T`, and nothing else may free it.
    #[must_use]
    pub unsafe fn from_raw(pointer: sys::CUdeviceptr) -> Self {
        Self { pointer: DevicePointer::from_raw(pointer) }
    }

    /// Takes ownership of the device memory at `pointer`.
    ///
    /// # Safety
    /// The requirements are the same as for [`from_raw`](Self::from_raw).
    #[must_use]
    pub unsafe fn from_device(pointer: DevicePointer<T>) -> Self {
        Self { pointer }
    }

    /// Releases ownership of the allocation, which the caller must free.
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "rust-cuda's name")]
    pub fn into_device(this: Self) -> DevicePointer<T> {
        ManuallyDrop::new(this).pointer
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.pointer
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the box.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        if this.pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the allocation is live and is freed only once.
        match unsafe { cuda_free(this.pointer) } {
            Ok(()) => {
                mem::forget(this);
                Ok(())
            }
            Err(error) => Err((error, this)),
        }
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBox<T> {
    /// Allocates one value and sets its bytes to zero.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: the code below initialises the value before anything reads it.
        unsafe {
            let made = Self::uninitialized()?;
            if size_of::<T>() > 0 {
                driver::cuMemsetD8_v2(made.pointer.as_raw(), 0, size_of::<T>())?;
            }
            Ok(made)
        }
    }

    /// Allocates one value and sets its bytes to zero, in stream order.
    ///
    /// # Safety
    /// Only work that `stream` runs after the allocation may use the returned box.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let made = Self::uninitialized_async(stream)?;
            if size_of::<T>() > 0 {
                let address = made.pointer.as_raw();
                driver::cuMemsetD8Async(address, 0, size_of::<T>(), stream.as_inner())?;
            }
            Ok(made)
        }
    }
}

impl<T: DeviceCopy> Drop for DeviceBox<T> {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
            let _ = unsafe { cuda_free(self.pointer) };
        }
    }
}

impl<T: DeviceCopy> fmt::Pointer for DeviceBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceBox<T> {}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        // SAFETY: source and target are valid for `size_of::<T>()` bytes.
        unsafe { copy_in(self.pointer.as_raw(), value, size_of::<T>()) }
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        // SAFETY: source and target are valid for `size_of::<T>()` bytes.
        unsafe { copy_out(value, self.pointer.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> CopyDestination<Self> for DeviceBox<T> {
    fn copy_from(&mut self, value: &Self) -> CudaResult<()> {
        // SAFETY: source and target are valid for `size_of::<T>()` bytes.
        unsafe { copy_across(self.pointer.as_raw(), value.pointer.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, value: &mut Self) -> CudaResult<()> {
        // SAFETY: source and target are valid for `size_of::<T>()` bytes.
        unsafe { copy_across(value.pointer.as_raw(), self.pointer.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &T, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (self.pointer.as_raw(), ptr::from_ref(value), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: source and target are valid for `size_of::<T>()` bytes. The caller upholds
            // the rest of this function's safety contract.
            _ => unsafe { driver::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.as_inner()) },
        }
    }

    unsafe fn async_copy_to(&self, value: &mut T, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (ptr::from_mut(value), self.pointer.as_raw(), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: source and target are valid for `size_of::<T>()` bytes. The caller upholds
            // the rest of this function's safety contract.
            _ => unsafe { driver::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream.as_inner()) },
        }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<Self> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &Self, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (self.pointer.as_raw(), value.pointer.as_raw(), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: source and target are valid for `size_of::<T>()` bytes. The caller upholds
            // the rest of this function's safety contract.
            _ => unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.as_inner()) },
        }
    }

    unsafe fn async_copy_to(&self, value: &mut Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: source and target are valid for `size_of::<T>()` bytes. The caller upholds the
        // rest of this function's safety contract.
        unsafe { value.async_copy_from(self, stream) }
    }
}
