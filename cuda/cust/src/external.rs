//! Imports memory that another API, such as Vulkan, allocated. Kernels can then access that memory
//! without a copy.
//!
//! ```no_run
//! use cust::external::ExternalMemory;
//!
//! /// Returns a file descriptor that Vulkan exported for 4096 bytes of memory.
//! fn exported() -> i32 {
//!     todo!("vkGetMemoryFdKHR")
//! }
//!
//! let _context = cust::quick_init()?;
//! // SAFETY: the descriptor is for memory of this size, and nothing else uses it.
//! let memory = unsafe { ExternalMemory::import(exported(), 4096) }?;
//! let first = memory.mapped_buffer::<f32>(4096, 0)?;
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::mem;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, DevicePointer};

/// Memory that another API allocated and that is imported into the current CUDA context.
///
/// ```no_run
/// use cust::external::ExternalMemory;
///
/// # let (old, new) = (0, 0);
/// let _context = cust::quick_init()?;
/// // SAFETY: both descriptors are for memory of 4096 bytes, and nothing else uses them.
/// let memory = unsafe {
///     let mut memory = ExternalMemory::import(old, 4096)?;
///     memory.reimport(new, 4096)?;
///     memory
/// };
/// ExternalMemory::drop(memory).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(transparent)]
#[derive(Debug)]
pub struct ExternalMemory(sys::CUexternalMemory);

// SAFETY: the handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for ExternalMemory {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for ExternalMemory {}

impl ExternalMemory {
    /// Imports the `size` bytes of memory that the file descriptor `fd` refers to. On success, the
    /// driver owns `fd`.
    ///
    /// # Safety
    /// - `fd` must be an opaque file descriptor that another API exported for memory. After the
    ///   import succeeds, the caller must not use or close `fd`.
    /// - `size` must be the size of that memory's allocation in bytes.
    ///
    /// # Errors
    /// Returns the driver's error; `NotSupported` on the CPU.
    pub unsafe fn import(fd: i32, size: usize) -> CudaResult<Self> {
        let description = sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
            r#type: sys::CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
            handle: sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC_handle { fd },
            size: size as u64,
            flags: 0,
            reserved: [0; 16],
        };
        let mut memory = ptr::null_mut();
        // SAFETY: all required fields of the description are set, and the driver writes the handle
        // to a local variable. The caller upholds the rest of this function's safety contract.
        unsafe { driver::cuImportExternalMemory(&raw mut memory, &raw const description) }?;
        Ok(Self(memory))
    }

    /// Replaces the memory of `self`: imports new memory as [`import`](Self::import) does, then
    /// releases the old memory.
    ///
    /// # Safety
    /// The requirements are the same as for [`import`](Self::import). Buffers mapped from the old
    /// memory must not be used afterwards.
    ///
    /// # Errors
    /// Returns the errors of [`import`](Self::import). On an error, `self` keeps the old memory.
    pub unsafe fn reimport(&mut self, fd: i32, size: usize) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        *self = unsafe { Self::import(fd, size) }?;
        Ok(())
    }

    /// Maps `size_in_bytes` bytes of the memory, starting at `offset_in_bytes`, into the device's
    /// address space. The caller must free the mapping with [`cuda_free`](crate::memory::cuda_free)
    /// before the memory is dropped.
    ///
    /// # Errors
    /// Returns `InvalidValue` if the requested range exceeds the imported memory, or the driver's
    /// error.
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
        // SAFETY: the memory is imported, all required fields of the description are set, and the
        // driver writes the address to a local variable.
        unsafe {
            driver::cuExternalMemoryGetMappedBuffer(
                &raw mut address,
                self.0,
                &raw const description,
            )
        }?;
        Ok(DevicePointer::from_raw(address))
    }

    /// Releases the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the memory.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: the memory was imported once and is released only once.
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
        // SAFETY: the memory was imported once and is released only once. Drop cannot report a
        // failure.
        let _ = unsafe { driver::cuDestroyExternalMemory(self.0) };
    }
}
