//! [`LockedBuffer`], which owns an array of elements in page-locked host memory.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// A buffer of fixed length in page-locked host memory, which dereferences to a slice.
///
/// If the length is 0 or the element type is zero-sized, no memory is allocated.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{LockedBuffer, cuda_malloc_locked};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = LockedBuffer::new(&1, 3)?;
/// buffer[1] = 5;
/// buffer.as_mut_slice().reverse();
/// assert_eq!(buffer.as_slice(), [1, 5, 1]);
/// assert_eq!(LockedBuffer::from_slice(&[1, 2])?[..], [1, 2]);
/// LockedBuffer::drop(buffer).map_err(|(error, _)| error)?;
///
/// // SAFETY: the elements are written before they are read, and only the buffers own them.
/// unsafe {
///     let mut buffer = LockedBuffer::<u32>::uninitialized(2)?;
///     buffer.as_mut_ptr().cast::<[u32; 2]>().write([7, 8]);
///     assert_eq!(buffer[..], [7, 8]);
///
///     let data = cuda_malloc_locked::<u32>(1)?;
///     data.write(9);
///     assert_eq!(LockedBuffer::from_raw_parts(data, 1)[..], [9]);
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    pointer: *mut T,
    len: usize,
}

// SAFETY: the buffer is the only owner of its memory.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Allocates `size` elements and sets each to `value`.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or any
    /// error of the driver.
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: the allocation has room for `size` elements, and the loop writes all of them
        // before anything reads them.
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
        // SAFETY: `slice` and the new buffer have `slice.len()` elements each, and the copy writes
        // all elements before anything reads them.
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
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or any
    /// error of the driver.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let pointer = match size > 0 && size_of::<T>() > 0 {
            // SAFETY: the caller of `uninitialized` writes the elements before anything reads them.
            // The returned buffer frees the memory when dropped.
            true => unsafe { cuda_malloc_locked(size) }?,
            false => NonNull::dangling().as_ptr(),
        };
        Ok(Self { pointer, len: size })
    }

    /// Returns the whole buffer as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns the whole buffer as a mutable slice.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// `pointer` must come from [`cuda_malloc_locked`], or from a buffer that was then passed to
    /// `mem::forget`. It must point to `size` valid elements, and nothing else may free the memory.
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: *mut T, size: usize) -> Self {
        Self { pointer, len: size }
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the buffer.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: if `free` succeeds, `mem::forget` prevents `Drop` from freeing the memory again.
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
    /// After a successful call, the memory must not be used or freed again.
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
        // SAFETY: `self.pointer` points to `self.len` initialised elements, which live as long as
        // `self`.
        unsafe { slice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `self.pointer` points to `self.len` initialised elements, and `self` is borrowed
        // exclusively.
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
