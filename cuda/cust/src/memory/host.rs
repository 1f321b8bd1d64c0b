//! [`LockedBuffer`] and [`UnifiedBuffer`], whose memory host and device access.
//!
//! The types do not check whether a kernel uses unified memory while the host reads or writes it.
//! Launches by name are unsafe partly for this reason: before the host accesses memory that a kernel
//! writes, the program must wait for the kernel.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::{DeviceCopy, DevicePointer};
use crate::context::current;
use crate::error::CudaResult;
use crate::typed::pinned::{HostKind, Storage};

/// A buffer of fixed length in page-locked host memory. The driver copies between it and a device
/// without a staging buffer, so asynchronous copies return immediately.
pub type LockedBuffer<T> = HostBuffer<T, false>;

/// A buffer of fixed length that host and device can both access. The driver moves each page to the
/// processor that accesses it.
pub type UnifiedBuffer<T> = HostBuffer<T, true>;

/// A buffer in page-locked or unified memory, which dereferences to a slice. If the length is 0 or
/// the element type is zero-sized, it has no memory.
#[derive(Debug)]
pub struct HostBuffer<T: DeviceCopy, const UNIFIED: bool> {
    storage: Option<Storage>,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: the buffer is the only owner of its memory.
unsafe impl<T: Send + DeviceCopy, const UNIFIED: bool> Send for HostBuffer<T, UNIFIED> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy, const UNIFIED: bool> Sync for HostBuffer<T, UNIFIED> {}

impl<T: DeviceCopy, const UNIFIED: bool> HostBuffer<T, UNIFIED> {
    /// Allocates `size` elements and sets each to `value`.
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        Self::with(size, |_| *value)
    }

    /// Copies `slice` into the memory of a new buffer.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        Self::with(slice.len(), |i| slice[i])
    }

    fn with(len: usize, element: impl Fn(usize) -> T) -> CudaResult<Self> {
        let kind = if UNIFIED { HostKind::Unified } else { HostKind::Locked };
        let storage = match len > 0 && size_of::<T>() > 0 {
            true => Some(Storage::new::<T>(&current()?, len, kind)?),
            false => None,
        };
        let made = Self { storage, len, element: PhantomData };
        for i in 0..len {
            // SAFETY: the allocation has room for `len` elements; elements without bytes need none.
            unsafe { made.data().add(i).write(element(i)) };
        }
        Ok(made)
    }

    /// Returns the whole buffer as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    fn data(&self) -> *mut T {
        let dangling = NonNull::dangling().as_ptr();
        self.storage.as_ref().map_or(dangling, |storage| storage.data().cast())
    }
}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Returns the address of the first element for a kernel.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from(self.data())
    }
}

impl<T: DeviceCopy, const UNIFIED: bool> Deref for HostBuffer<T, UNIFIED> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `with` has initialised all elements, which live as long as `self`.
        unsafe { slice::from_raw_parts(self.data(), self.len) }
    }
}

impl<T: DeviceCopy, const UNIFIED: bool> DerefMut for HostBuffer<T, UNIFIED> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `with` has initialised all elements, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.data(), self.len) }
    }
}

impl<T: DeviceCopy, const UNIFIED: bool> AsRef<[T]> for HostBuffer<T, UNIFIED> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy, const UNIFIED: bool> AsMut<[T]> for HostBuffer<T, UNIFIED> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}
