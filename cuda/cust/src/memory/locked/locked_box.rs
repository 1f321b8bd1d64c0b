//! [`LockedBox`], which owns one value in page-locked host memory.

use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// A value in page-locked host memory. If `T` is zero-sized, no memory is allocated.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::LockedBox;
///
/// let _context = cust::quick_init()?;
/// let mut value = LockedBox::new(&1.5)?;
/// *value += 1.0;
/// assert_eq!(value.as_raw().cast_const(), &raw const *value);
///
/// // SAFETY: the pointer comes from a box that has just released its memory.
/// let value = unsafe { LockedBox::from_raw(value.into_raw()) };
/// assert_eq!(*value, 2.5);
/// LockedBox::drop(value).map_err(|(error, _)| error)?;
///
/// // SAFETY: the value is written before it is read.
/// let value = unsafe {
///     let value = LockedBox::<u32>::uninitialized()?;
///     value.as_raw().write(7);
///     value
/// };
/// assert_eq!(*value, 7);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct LockedBox<T: DeviceCopy> {
    pointer: *mut T,
}

// SAFETY: the box is the only owner of its memory.
unsafe impl<T: Send + DeviceCopy> Send for LockedBox<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBox<T> {}

impl<T: DeviceCopy> LockedBox<T> {
    /// Allocates memory for one value and leaves its bytes undefined.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        let pointer = match size_of::<T>() {
            0 => NonNull::dangling().as_ptr(),
            // SAFETY: the caller of `uninitialized` writes the value before anything reads it. The
            // returned box frees the memory when dropped.
            _ => unsafe { cuda_malloc_locked(1) }?,
        };
        Ok(Self { pointer })
    }

    /// Copies `value` into page-locked memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: &T) -> CudaResult<Self> {
        // SAFETY: the allocation has room for the value, and the code below writes the value before
        // anything reads it.
        unsafe {
            let made = Self::uninitialized()?;
            made.pointer.write(*value);
            Ok(made)
        }
    }

    /// Releases ownership of the allocation. The caller must free it with
    /// [`from_raw`](Self::from_raw) or [`cuda_free_locked`].
    #[must_use]
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).pointer
    }

    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// `pointer` must come from [`into_raw`](Self::into_raw) or [`cuda_malloc_locked`] and point to
    /// a valid `T`. Nothing else may free the memory.
    #[must_use]
    pub unsafe fn from_raw(pointer: *mut T) -> Self {
        Self { pointer }
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_raw(&self) -> *mut T {
        self.pointer
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the box.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: `this` is owned, so nothing borrows its memory. If `free` succeeds, `mem::forget`
        // prevents `Drop` from freeing the memory again.
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
        match size_of::<T>() {
            0 => Ok(()),
            // SAFETY: the caller upholds this function's safety contract.
            _ => unsafe { cuda_free_locked(self.pointer) },
        }
    }
}

impl<T: DeviceCopy> Drop for LockedBox<T> {
    fn drop(&mut self) {
        // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
        let _ = unsafe { self.free() };
    }
}

impl<T: DeviceCopy> Deref for LockedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `self.pointer` points to an initialised value, which lives as long as `self`.
        unsafe { &*self.pointer }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `self.pointer` points to an initialised value, and `self` is borrowed
        // exclusively.
        unsafe { &mut *self.pointer }
    }
}

impl<T: DeviceCopy> AsRef<T> for LockedBox<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> AsMut<T> for LockedBox<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}
