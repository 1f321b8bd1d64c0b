//! Pointers to unified memory. The type [`DevicePointer`](super::DevicePointer) comes from
//! `cuda_std`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;

use super::DeviceCopy;

/// A pointer to unified memory, which host and device can both dereference.
///
/// The pointer does not own the memory. Dereferencing it on the host while a kernel writes the
/// memory is a data race; wait for the kernel first.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{UnifiedBuffer, UnifiedPointer};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = UnifiedBuffer::from_slice(&[1, 2, 3])?;
/// let mut first = buffer.as_unified_ptr();
/// assert!(!first.is_null() && UnifiedPointer::<u32>::null().is_null());
/// // SAFETY: the results are within the buffer, and no kernel uses it.
/// unsafe {
///     assert_eq!(*first.add(2).as_raw(), 3);
///     assert_eq!(first.add(2).sub(1), first.offset(1));
///     *first.as_raw_mut() = 9;
///     assert_eq!(UnifiedPointer::wrap(first.as_raw_mut()), first);
/// }
/// assert_eq!(first.wrapping_add(5).wrapping_sub(5), first.wrapping_offset(0));
/// assert_eq!(buffer[..], [9, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(transparent)]
pub struct UnifiedPointer<T: DeviceCopy>(*mut T);

// SAFETY: the pointer is a plain address that is valid on host and device.
unsafe impl<T: DeviceCopy> DeviceCopy for UnifiedPointer<T> {}

impl<T: DeviceCopy> UnifiedPointer<T> {
    /// Wraps a pointer to unified memory.
    ///
    /// # Safety
    /// The pointer must be null or point into an allocation of
    /// [`cuda_malloc_unified`](super::cuda_malloc_unified).
    #[must_use]
    pub const unsafe fn wrap(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Returns the address as a `*const T`.
    #[must_use]
    pub const fn as_raw(self) -> *const T {
        self.0
    }

    /// Returns the address as a `*mut T`.
    #[must_use]
    pub const fn as_raw_mut(&mut self) -> *mut T {
        self.0
    }

    /// Returns whether the pointer is null.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self(ptr::null_mut())
    }

    /// Returns the pointer moved by `count` elements.
    ///
    /// # Safety
    /// `self` and the result must point into the same allocation or to its end.
    #[must_use]
    pub const unsafe fn offset(self, count: isize) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        Self(unsafe { self.0.offset(count) })
    }

    /// Returns the pointer moved forward by `count` elements.
    ///
    /// # Safety
    /// `self` and the result must point into the same allocation or to its end.
    #[must_use]
    pub const unsafe fn add(self, count: usize) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        Self(unsafe { self.0.add(count) })
    }

    /// Returns the pointer moved back by `count` elements.
    ///
    /// # Safety
    /// `self` and the result must point into the same allocation or to its end.
    #[must_use]
    pub const unsafe fn sub(self, count: usize) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        Self(unsafe { self.0.sub(count) })
    }

    /// Returns the pointer moved by `count` elements. The result may lie outside the allocation.
    #[must_use]
    pub const fn wrapping_offset(self, count: isize) -> Self {
        Self(self.0.wrapping_offset(count))
    }

    /// Returns the pointer moved forward by `count` elements. The result may lie outside the
    /// allocation.
    #[must_use]
    pub const fn wrapping_add(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// Returns the pointer moved back by `count` elements. The result may lie outside the
    /// allocation.
    #[must_use]
    pub const fn wrapping_sub(self, count: usize) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}

// The implementations below are not derived, because a derived implementation would require that
// `T` implements the same trait.
impl<T: DeviceCopy> Clone for UnifiedPointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for UnifiedPointer<T> {}

impl<T: DeviceCopy> PartialEq for UnifiedPointer<T> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl<T: DeviceCopy> Eq for UnifiedPointer<T> {}

impl<T: DeviceCopy> PartialOrd for UnifiedPointer<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: DeviceCopy> Ord for UnifiedPointer<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: DeviceCopy> Hash for UnifiedPointer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: DeviceCopy> fmt::Debug for UnifiedPointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(self, f)
    }
}

impl<T: DeviceCopy> fmt::Pointer for UnifiedPointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}
