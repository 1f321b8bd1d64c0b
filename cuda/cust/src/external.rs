//! Memory that another API allocated, such as Vulkan, and that kernels use in place.

use std::mem;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, DevicePointer};

/// Memory of another API, imported into the current context.
#[repr(transparent)]
#[derive(Debug)]
pub struct ExternalMemory(sys::CUexternalMemory);

// SAFETY: the handle may be used from any thread; the driver locks.
unsafe impl Send for ExternalMemory {}
// SAFETY: as above.
unsafe impl Sync for ExternalMemory {}

impl ExternalMemory {
    /// Imports `size` bytes of memory by its file descriptor, which the driver then owns.
    ///
    /// # Safety
    /// - `fd` refers to memory that its API exported as an opaque file descriptor, and it is not used
    ///   afterwards.
    /// - `size` is the size that the memory was allocated with.
    ///
    /// # Errors
    /// Returns any error of the driver. On the CPU `NotSupported`.
    pub unsafe fn import(fd: i32, size: usize) -> CudaResult<Self> {
        let description = sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
            r#type: sys::CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
            handle: sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle { fd },
            size: size as u64,
            flags: 0,
            reserved: [0; 16],
        };
        let mut memory = ptr::null_mut();
        // SAFETY: the handle is written, the description is complete; the rest is the caller's.
        unsafe { driver::cuImportExternalMemory(&raw mut memory, &raw const description) }?;
        Ok(Self(memory))
    }

    /// Imports other memory and releases this one.
    ///
    /// # Safety
    /// As [`import`](Self::import). Buffers that were mapped from the old memory are not used any more.
    ///
    /// # Errors
    /// As [`import`](Self::import); the old memory stays then.
    pub unsafe fn reimport(&mut self, fd: i32, size: usize) -> CudaResult<()> {
        // SAFETY: as the caller vouches.
        *self = unsafe { Self::import(fd, size) }?;
        Ok(())
    }

    /// Maps a part of the memory into the device's address space. The caller frees the mapping by
    /// [`cuda_free`](crate::memory::cuda_free), before the memory is dropped.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a part that is not within the memory, or any other error of the driver.
    pub fn mapped_buffer<T: DeviceCopy>(
        &self,
        size_in_bytes: usize,
        offset_in_bytes: usize,
    ) -> CudaResult<DevicePointer<T>> {
        let description = sys::CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
            offset: offset_in_bytes as u64,
            size: size_in_bytes as u64,
            ..Default::default()
        };
        let mut address = 0;
        // SAFETY: the memory is imported, the address is written, the description is complete.
        unsafe {
            driver::cuExternalMemoryGetMappedBuffer(
                &raw mut address,
                self.0,
                &raw const description,
            )
        }?;
        Ok(DevicePointer::from_raw(address))
    }

    /// Releases the memory and reports failure, which `Drop` cannot.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the memory.
    #[allow(clippy::should_implement_trait, reason = "named as the others are")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: imported once, released once.
        match unsafe { driver::cuDestroyExternalMemory(this.0) } {
            Ok(()) => {
                mem::forget(this);
                Ok(())
            }
            Err(error) => Err((error, this)),
        }
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        // SAFETY: imported once, released once. A failure cannot be reported from here.
        let _ = unsafe { driver::cuDestroyExternalMemory(self.0) };
    }
}
