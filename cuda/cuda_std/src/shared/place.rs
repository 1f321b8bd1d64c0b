//! An element of a shared array as a place, for kernels that use the array as a pointer.

use core::ops::{Deref, DerefMut};

use super::Shared;

/// What [`Shared::add`] gives: `*place` is the element.
///
/// On the CPU a use of `*place` is a load for the race detector, and a store where it is assigned to
/// or borrowed mutably.
#[derive(Debug)]
pub struct SharedPlace<T> {
    array: Shared<T>,
    at: u32,
}

impl<T> SharedPlace<T> {
    /// The element `at`, which exists.
    #[inline(always)]
    pub(super) fn new(array: Shared<T>, at: u32) -> Self {
        Self { array, at }
    }

    /// Reads the element.
    ///
    /// # Safety
    /// As [`Shared::add`].
    #[inline(always)]
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
    /// As [`Shared::add`].
    #[inline(always)]
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
    fn deref(&self) -> &T {
        #[cfg(not(target_arch = "nvptx64"))]
        self.array.note(self.at, crate::memory::Access::Load);
        // SAFETY: the element exists and nothing writes it, as the caller of `add` vouches.
        unsafe { &*self.array.address(self.at) }
    }
}

impl<T> DerefMut for SharedPlace<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        self.array.note(self.at, crate::memory::Access::Store);
        // SAFETY: the element exists and nothing else touches it, as the caller of `add` vouches.
        unsafe { &mut *self.array.address(self.at) }
    }
}
