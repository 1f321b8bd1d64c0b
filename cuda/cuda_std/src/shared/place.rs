//! A dereferenceable element of a shared array, for kernels that use the array like a pointer.

use core::ops::{Deref, DerefMut};

use super::Shared;

/// The result of [`Shared::add`]: `*place` is the element.
///
/// On the CPU, the race detector counts an assignment to `*place` or a mutable borrow of it as a
/// store, and any other use as a load.
#[derive(Debug)]
pub struct SharedPlace<T> {
    array: Shared<T>,
    at: u32,
}

impl<T> SharedPlace<T> {
    /// Creates a place for element `at` of `array`. The element must exist.
    #[inline(always)]
    pub(super) fn new(array: Shared<T>, at: u32) -> Self {
        Self { array, at }
    }

    /// Reads the element.
    ///
    /// # Safety
    /// The requirements are those of [`Shared::add`].
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub unsafe fn read(&self) -> T
    where
        T: Copy,
    {
        **self
    }

    /// Writes the element.
    ///
    /// # Safety
    /// The requirements are those of [`Shared::add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(&mut self, value: T)
    where
        T: Copy,
    {
        **self = value;
    }
}

impl<T> Deref for SharedPlace<T> {
    type Target = T;

    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &T {
        #[cfg(not(target_arch = "nvptx64"))]
        self.array.note(self.at, crate::memory::Access::Load);
        // SAFETY: the caller of `Shared::add` guarantees that the element exists and that no other
        // thread writes it.
        unsafe { &*self.array.address(self.at) }
    }
}

impl<T> DerefMut for SharedPlace<T> {
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        self.array.note(self.at, crate::memory::Access::Store);
        // SAFETY: the caller of `Shared::add` guarantees that the element exists and that no other
        // thread accesses it.
        unsafe { &mut *self.array.address(self.at) }
    }
}
