//! A dereferenceable element of a shared array, for kernels that use the array like a pointer.

use core::ops::{Deref, DerefMut};

use super::Shared;

/// The result of [`Shared::add`]: `*place` is the element.
///
/// On the CPU, the race detector counts an assignment to `*place` or a mutable borrow of it as a
/// store, and any other use as a load.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::{shared_array, thread};
///
/// launch(&Launch::new("neighbour", [1, 1, 1], [32, 1, 1]), &|| {
///     let tile = shared_array![u32; 32];
///     let i = thread::rank() as usize;
///     // SAFETY: the indices are less than 32, and the barrier separates the accesses.
///     unsafe {
///         let mut own = tile.add(i);
///         own.write(5);
///         *own += 1;
///         thread::sync_threads();
///         assert_eq!(tile.add((i + 1) % 32).read(), 6);
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
