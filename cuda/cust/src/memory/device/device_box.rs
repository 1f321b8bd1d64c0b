//! One value on a device.

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

/// One value on a device. A type of no size has a null address.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    pointer: DevicePointer<T>,
}

// SAFETY: owned plain memory.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: as above.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// A copy of `value`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(value: &T) -> CudaResult<Self> {
        // SAFETY: written before anybody reads.
        let mut made = unsafe { Self::uninitialized() }?;
        made.copy_from(value)?;
        Ok(made)
    }

    /// A copy of `value`, in stream order.
    ///
    /// # Safety
    /// `value` lives and stays as it is until the stream's work is done, and nothing else uses the result
    /// before then but work of the same stream.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn new_async(value: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut made = Self::uninitialized_async(stream)?;
            made.async_copy_from(value, stream)?;
            Ok(made)
        }
    }

    /// Frees the memory in stream order, without waiting.
    ///
    /// # Errors
    /// What the driver says.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        match this.pointer.is_null() {
            true => Ok(()),
            // SAFETY: allocated once, freed once.
            false => unsafe { cuda_free_async(stream, this.pointer) },
        }
    }

    /// The value, copied to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the box holds a `T`, which the copy writes.
        unsafe {
            copy_out(value.as_mut_ptr(), self.pointer.as_raw(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }

    /// A value whose bytes are undefined; on the CPU each is `0xff`.
    ///
    /// # Safety
    /// It is written before anybody reads it.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        let pointer = match size_of::<T>() {
            0 => DevicePointer::null(),
            // SAFETY: freed by drop.
            _ => unsafe { cuda_malloc(1) }?,
        };
        Ok(Self { pointer })
    }

    /// As [`uninitialized`](Self::uninitialized), in stream order.
    ///
    /// # Safety
    /// It is written before anybody reads it, and used only by work behind the allocation.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        let pointer = match size_of::<T>() {
            0 => DevicePointer::null(),
            // SAFETY: freed by drop.
            _ => unsafe { cuda_malloc_async(stream, 1) }?,
        };
        Ok(Self { pointer })
    }

    /// Takes over an allocation.
    ///
    /// # Safety
    /// It is an allocation of the driver's that holds a `T`, and nobody else frees it.
    #[must_use]
    pub unsafe fn from_raw(pointer: sys::CUdeviceptr) -> Self {
        Self { pointer: DevicePointer::from_raw(pointer) }
    }

    /// Takes over an allocation.
    ///
    /// # Safety
    /// As [`from_raw`](Self::from_raw).
    #[must_use]
    pub unsafe fn from_device(pointer: DevicePointer<T>) -> Self {
        Self { pointer }
    }

    /// Gives up the allocation, which the caller frees.
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "rust-cuda's name")]
    pub fn into_device(this: Self) -> DevicePointer<T> {
        ManuallyDrop::new(this).pointer
    }

    /// Its address.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.pointer
    }

    /// Frees the memory; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the box.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        if this.pointer.is_null() {
            return Ok(());
        }
        // SAFETY: allocated once, freed once.
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
    /// A value of zeros.
    ///
    /// # Errors
    /// What the driver says.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: written before anybody reads.
        unsafe {
            let made = Self::uninitialized()?;
            if size_of::<T>() > 0 {
                driver::cuMemsetD8_v2(made.pointer.as_raw(), 0, size_of::<T>())?;
            }
            Ok(made)
        }
    }

    /// A value of zeros, in stream order.
    ///
    /// # Safety
    /// It is used only by work behind the allocation.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: as the caller vouches.
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
            // SAFETY: allocated once, freed once. Nobody is there to tell of a failure.
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
        // SAFETY: both are a `T`; so below.
        unsafe { copy_in(self.pointer.as_raw(), value, size_of::<T>()) }
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { copy_out(value, self.pointer.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> CopyDestination<Self> for DeviceBox<T> {
    fn copy_from(&mut self, value: &Self) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { copy_across(self.pointer.as_raw(), value.pointer.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, value: &mut Self) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { copy_across(value.pointer.as_raw(), self.pointer.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &T, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (self.pointer.as_raw(), ptr::from_ref(value), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: both are a `T`; the rest is the caller's. So below.
            _ => unsafe { driver::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.as_inner()) },
        }
    }

    unsafe fn async_copy_to(&self, value: &mut T, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (ptr::from_mut(value), self.pointer.as_raw(), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: as above.
            _ => unsafe { driver::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream.as_inner()) },
        }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<Self> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &Self, stream: &Stream) -> CudaResult<()> {
        let (to, from, bytes) = (self.pointer.as_raw(), value.pointer.as_raw(), size_of::<T>());
        match bytes {
            0 => Ok(()),
            // SAFETY: as above.
            _ => unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.as_inner()) },
        }
    }

    unsafe fn async_copy_to(&self, value: &mut Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { value.async_copy_from(self, stream) }
    }
}
