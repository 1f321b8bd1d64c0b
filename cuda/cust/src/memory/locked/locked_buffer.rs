//! [`LockedBuffer`], which owns a number of elements in page-locked host memory.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// A fixed number of elements in page-locked host memory. Dereferences to a slice.
///
/// An empty buffer takes no memory, and neither does one of a zero-sized type.
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    pointer: *mut T,
    len: usize,
}

// SAFETY: the buffer owns plain memory.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Allocates `size` elements and sets each to `value`.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` for a size beyond the address space, or any error of the
    /// driver.
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: every element is written, within the allocation, before anything reads it.
        unsafe {
            let made = Self::uninitialized(size)?;
            for at in 0..size {
                made.pointer.add(at).write(*value);
            }
            Ok(made)
        }
    }

    /// Copies `slice` into page-locked memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: every element is written before anything reads it; source and destination both
        // have `slice.len()` elements.
        unsafe {
            let made = Self::uninitialized(slice.len())?;
            ptr::copy_nonoverlapping(slice.as_ptr(), made.pointer, slice.len());
            Ok(made)
        }
    }

    /// Allocates memory for `size` elements and leaves their bytes undefined.
    ///
    /// # Safety
    /// The caller must write the elements before anything reads them.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` for a size beyond the address space, or any error of the
    /// driver.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let pointer = match size > 0 && size_of::<T>() > 0 {
            // SAFETY: the caller writes the elements before anything reads them, and drop frees the
            // memory.
            true => unsafe { cuda_malloc_locked(size) }?,
            false => NonNull::dangling().as_ptr(),
        };
        Ok(Self { pointer, len: size })
    }

    /// Returns all elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns all elements as a mutable slice.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// The pointer must come from [`cuda_malloc_locked`] or from a buffer that was passed to
    /// `mem::forget` and hold `size` elements, and nothing else may free it.
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: *mut T, size: usize) -> Self {
        Self { pointer, len: size }
    }

    /// Frees the memory and reports failure, which `Drop` cannot.
    ///
    /// # Errors
    /// Returns the driver's error together with the buffer.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: if the call succeeds, `mem::forget` prevents a second free.
        match unsafe { this.free() } {
            Ok(()) => {
                mem::forget(this);
                Ok(())
            }
            Err(error) => Err((error, this)),
        }
    }

    /// Frees the memory, if any was allocated.
    ///
    /// # Safety
    /// The memory must be freed only once.
    unsafe fn free(&self) -> CudaResult<()> {
        match self.len > 0 && size_of::<T>() > 0 {
            // SAFETY: the caller upholds this function's safety contract.
            true => unsafe { cuda_free_locked(self.pointer) },
            false => Ok(()),
        }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
        let _ = unsafe { self.free() };
    }
}

impl<T: DeviceCopy> Deref for LockedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory holds `len` elements.
        unsafe { slice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the buffer holds `len` elements, and the borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> AsRef<[T]> for LockedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy> AsMut<[T]> for LockedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}
