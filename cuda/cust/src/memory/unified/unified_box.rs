//! [`UnifiedBox`], which owns one value in unified memory.

use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, UnifiedPointer, cuda_free_unified, cuda_malloc_unified};

/// A value that host and device can both access. If `T` is zero-sized, no memory is allocated.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::UnifiedBox;
///
/// let _context = cust::quick_init()?;
/// let mut value = UnifiedBox::new(1.5)?;
/// *value += 1.0;
/// assert_eq!(value.as_unified_ptr().as_raw(), &raw const *value);
///
/// // SAFETY: the pointers come from boxes that released their memory.
/// let value = unsafe {
///     let value = UnifiedBox::from_unified(UnifiedBox::into_unified(value));
///     UnifiedBox::<f64>::from_raw(UnifiedBox::into_unified(value).as_raw_mut())
/// };
/// assert_eq!(*value, 2.5);
/// UnifiedBox::drop(value).map_err(|(error, _)| error)?;
///
/// // SAFETY: the value is written before it is read.
/// let value = unsafe {
///     let value = UnifiedBox::<u32>::uninitialized()?;
///     value.as_unified_ptr().as_raw_mut().write(7);
///     value
/// };
/// // The value is never freed.
/// let value: &'static mut u32 = UnifiedBox::leak(value);
/// assert_eq!(*value, 7);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct UnifiedBox<T: DeviceCopy> {
    pointer: UnifiedPointer<T>,
}

// SAFETY: the box is the only owner of its memory.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBox<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBox<T> {}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Moves `value` into unified memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: T) -> CudaResult<Self> {
        // SAFETY: the allocation has room for the value, and the code below writes the value before
        // anything reads it.
        unsafe {
            let mut made = Self::uninitialized()?;
            made.pointer.as_raw_mut().write(value);
            Ok(made)
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
            // SAFETY: any aligned address is valid for a zero-sized type.
            0 => unsafe { UnifiedPointer::wrap(NonNull::dangling().as_ptr()) },
            // SAFETY: the caller of `uninitialized` writes the value before anything reads it. The
            // returned box frees the memory when dropped.
            _ => unsafe { cuda_malloc_unified(1) }?,
        };
        Ok(Self { pointer })
    }

    /// Takes ownership of the allocation at `pointer`, which contains a value.
    ///
    /// # Safety
    /// `pointer` must come from [`cuda_malloc_unified`] or [`into_unified`](Self::into_unified) and
    /// point to a valid `T`. Nothing else may free the memory.
    #[must_use]
    pub unsafe fn from_raw(pointer: *mut T) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        Self { pointer: unsafe { UnifiedPointer::wrap(pointer) } }
    }

    /// Takes ownership of the allocation at `pointer`, which contains a value.
    ///
    /// # Safety
    /// The requirements are the same as for [`from_raw`](Self::from_raw).
    #[must_use]
    pub unsafe fn from_unified(pointer: UnifiedPointer<T>) -> Self {
        Self { pointer }
    }

    /// Releases ownership of the allocation. The caller must free it with
    /// [`from_unified`](Self::from_unified) or [`cuda_free_unified`].
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "rust-cuda's name")]
    pub fn into_unified(this: Self) -> UnifiedPointer<T> {
        ManuallyDrop::new(this).pointer
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_unified_ptr(&self) -> UnifiedPointer<T> {
        self.pointer
    }

    /// Leaks the box and returns a reference to its value. The memory is never freed.
    #[must_use]
    pub fn leak<'a>(this: Self) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: the pointer refers to an initialised value. After `into_unified`, nothing else
        // owns or frees that value.
        unsafe { &mut *Self::into_unified(this).as_raw_mut() }
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the box.
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
        match size_of::<T>() {
            0 => Ok(()),
            // SAFETY: the caller upholds this function's safety contract.
            _ => unsafe { cuda_free_unified(self.pointer) },
        }
    }
}

impl<T: DeviceCopy> Drop for UnifiedBox<T> {
    fn drop(&mut self) {
        // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
        let _ = unsafe { self.free() };
    }
}

impl<T: DeviceCopy> Deref for UnifiedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `self.pointer` points to an initialised value, which lives as long as `self`.
        unsafe { &*self.pointer.as_raw() }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `self.pointer` points to an initialised value, and `self` is borrowed
        // exclusively.
        unsafe { &mut *self.pointer.as_raw_mut() }
    }
}

impl<T: DeviceCopy> Borrow<T> for UnifiedBox<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> BorrowMut<T> for UnifiedBox<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy> AsRef<T> for UnifiedBox<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> AsMut<T> for UnifiedBox<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy + fmt::Display> fmt::Display for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: DeviceCopy> fmt::Pointer for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

// Comparisons and hashes use the value in the box, not its address, as for `std::boxed::Box`.
impl<T: DeviceCopy + PartialEq> PartialEq for UnifiedBox<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: DeviceCopy + Eq> Eq for UnifiedBox<T> {}

impl<T: DeviceCopy + PartialOrd> PartialOrd for UnifiedBox<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: DeviceCopy + Ord> Ord for UnifiedBox<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: DeviceCopy + Hash> Hash for UnifiedBox<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
