//! Memory that the host accesses directly: page-locked ([`LockedBuffer`], [`LockedBox`]) and unified
//! ([`UnifiedBuffer`], [`UnifiedBox`]). On the CPU backend, both are ordinary memory.
//!
//! The types do not check whether a kernel uses unified memory while the host reads or writes it.
//! Launches by name are unsafe partly for this reason: before the host accesses memory that a kernel
//! writes, the program must wait for the kernel.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use super::{
    DeviceCopy, UnifiedPointer, cuda_free_locked, cuda_free_unified, cuda_malloc_locked,
    cuda_malloc_unified,
};
use crate::error::{CudaResult, DropResult, destroyed};

/// A kind of memory that the host accesses directly.
pub trait Kind {
    /// Allocates memory for `count` elements and leaves its bytes undefined.
    ///
    /// # Safety
    /// The caller must write the elements before anything reads them.
    ///
    /// # Errors
    /// Returns the driver's error.
    unsafe fn allocate<T: DeviceCopy>(count: usize) -> CudaResult<*mut T>;

    /// Frees memory.
    ///
    /// # Safety
    /// The memory must come from [`allocate`](Self::allocate) and be freed only once.
    ///
    /// # Errors
    /// Returns the driver's error.
    unsafe fn free<T: DeviceCopy>(pointer: *mut T) -> CudaResult<()>;
}

/// Page-locked host memory. The driver copies between it and a device without a staging buffer, so
/// asynchronous copies return immediately.
#[derive(Debug)]
pub enum Locked {}

/// Memory with the same address on host and device. The driver moves each page to the processor that
/// accesses it.
#[derive(Debug)]
pub enum Unified {}

impl Kind for Locked {
    unsafe fn allocate<T: DeviceCopy>(count: usize) -> CudaResult<*mut T> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { cuda_malloc_locked(count) }
    }

    unsafe fn free<T: DeviceCopy>(pointer: *mut T) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { cuda_free_locked(pointer) }
    }
}

impl Kind for Unified {
    unsafe fn allocate<T: DeviceCopy>(count: usize) -> CudaResult<*mut T> {
        // SAFETY: the caller upholds this function's safety contract.
        Ok(unsafe { cuda_malloc_unified(count) }?.as_raw_mut())
    }

    unsafe fn free<T: DeviceCopy>(pointer: *mut T) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { cuda_free_unified(UnifiedPointer::wrap(pointer)) }
    }
}

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
pub type LockedBuffer<T> = HostBuffer<T, Locked>;

/// A buffer of fixed length that host and device can both access. It dereferences to a slice.
///
/// If the length is 0 or the element type is zero-sized, no memory is allocated.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::UnifiedBuffer;
///
/// let _context = cust::quick_init()?;
/// let mut buffer = UnifiedBuffer::from_slice(&[1, 5, 1])?;
/// assert_eq!(buffer.as_unified_ptr().as_raw(), buffer.as_ptr());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type UnifiedBuffer<T> = HostBuffer<T, Unified>;

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
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type LockedBox<T> = HostBox<T, Locked>;

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
/// // SAFETY: the pointer comes from a box that has just released its memory.
/// let value = unsafe { UnifiedBox::from_unified(UnifiedBox::into_unified(value)) };
/// assert_eq!(*value, 2.5);
/// UnifiedBox::drop(value).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type UnifiedBox<T> = HostBox<T, Unified>;

/// A buffer of fixed length in memory of the kind `K`, which dereferences to a slice.
#[derive(Debug)]
pub struct HostBuffer<T: DeviceCopy, K: Kind> {
    pointer: *mut T,
    len: usize,
    kind: PhantomData<K>,
}

// SAFETY: the buffer is the only owner of its memory.
unsafe impl<T: Send + DeviceCopy, K: Kind> Send for HostBuffer<T, K> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy, K: Kind> Sync for HostBuffer<T, K> {}

impl<T: DeviceCopy, K: Kind> HostBuffer<T, K> {
    fn owning(pointer: *mut T, len: usize) -> Self {
        Self { pointer, len, kind: PhantomData }
    }

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

    /// Copies `slice` into the memory of a new buffer.
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

    /// Allocates memory for `size` elements and leaves their bytes undefined; on the CPU each byte
    /// is `0x7b`.
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
            true => unsafe { K::allocate(size) }?,
            false => NonNull::dangling().as_ptr(),
        };
        Ok(Self::owning(pointer, size))
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

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the buffer.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        // SAFETY: if `free` succeeds, `mem::forget` prevents `Drop` from freeing the memory again.
        let result = unsafe { this.free() };
        destroyed(this, result)
    }

    /// Frees the memory, if any was allocated.
    ///
    /// # Safety
    /// After a successful call, the memory must not be used or freed again.
    unsafe fn free(&self) -> CudaResult<()> {
        match self.len > 0 && size_of::<T>() > 0 {
            // SAFETY: the caller upholds this function's safety contract.
            true => unsafe { K::free(self.pointer) },
            false => Ok(()),
        }
    }
}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// `pointer` must come from [`cuda_malloc_locked`], or from a buffer that was then passed to
    /// `mem::forget`. It must point to `size` valid elements, and nothing else may free the memory.
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: *mut T, size: usize) -> Self {
        Self::owning(pointer, size)
    }
}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Returns the address of the first element.
    #[must_use]
    pub fn as_unified_ptr(&mut self) -> UnifiedPointer<T> {
        // SAFETY: the pointer is that of an allocation, or is never dereferenced.
        unsafe { UnifiedPointer::wrap(self.pointer) }
    }

    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// `pointer` must come from [`cuda_malloc_unified`], or from a buffer that was then passed to
    /// `mem::forget`. It must point to `capacity` valid elements, and nothing else may free the
    /// memory.
    #[must_use]
    pub unsafe fn from_raw_parts(mut pointer: UnifiedPointer<T>, capacity: usize) -> Self {
        Self::owning(pointer.as_raw_mut(), capacity)
    }
}

impl<T: DeviceCopy, K: Kind> Drop for HostBuffer<T, K> {
    fn drop(&mut self) {
        // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
        let _ = unsafe { self.free() };
    }
}

impl<T: DeviceCopy, K: Kind> Deref for HostBuffer<T, K> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `self.pointer` points to `self.len` initialised elements, which live as long as
        // `self`.
        unsafe { slice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy, K: Kind> DerefMut for HostBuffer<T, K> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `self.pointer` points to `self.len` initialised elements, and `self` is borrowed
        // exclusively.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy, K: Kind> AsRef<[T]> for HostBuffer<T, K> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy, K: Kind> AsMut<[T]> for HostBuffer<T, K> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

/// A value in memory of the kind `K`: a buffer with one element.
#[derive(Debug)]
pub struct HostBox<T: DeviceCopy, K: Kind>(HostBuffer<T, K>);

impl<T: DeviceCopy, K: Kind> HostBox<T, K> {
    /// Allocates memory for one value and leaves its bytes undefined; on the CPU each byte is
    /// `0x7b`.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { HostBuffer::uninitialized(1) }.map(Self)
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the box.
    pub fn drop(this: Self) -> DropResult<Self> {
        HostBuffer::drop(this.0).map_err(|(error, buffer)| (error, Self(buffer)))
    }

    /// Takes ownership of the allocation at `pointer`.
    ///
    /// # Safety
    /// `pointer` must come from a box of the same kind that released it, or from an allocation of
    /// one value of that kind, and point to a valid `T`. Nothing else may free the memory.
    #[must_use]
    pub unsafe fn from_raw(pointer: *mut T) -> Self {
        Self(HostBuffer::owning(pointer, 1))
    }
}

impl<T: DeviceCopy> LockedBox<T> {
    /// Copies `value` into page-locked memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: &T) -> CudaResult<Self> {
        HostBuffer::new(value, 1).map(Self)
    }

    /// Releases ownership of the allocation. The caller must free it with
    /// [`from_raw`](Self::from_raw) or [`cuda_free_locked`].
    #[must_use]
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).0.pointer
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_raw(&self) -> *mut T {
        self.0.pointer
    }
}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Moves `value` into unified memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: T) -> CudaResult<Self> {
        HostBuffer::new(&value, 1).map(Self)
    }

    /// Takes ownership of the allocation at `pointer`, which contains a value.
    ///
    /// # Safety
    /// The requirements are the same as for [`from_raw`](Self::from_raw).
    #[must_use]
    pub unsafe fn from_unified(mut pointer: UnifiedPointer<T>) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { Self::from_raw(pointer.as_raw_mut()) }
    }

    /// Releases ownership of the allocation. The caller must free it with
    /// [`from_unified`](Self::from_unified) or [`cuda_free_unified`].
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "rust-cuda's name")]
    pub fn into_unified(this: Self) -> UnifiedPointer<T> {
        ManuallyDrop::new(this).as_unified_ptr()
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_unified_ptr(&self) -> UnifiedPointer<T> {
        // SAFETY: the pointer is that of an allocation, or is never dereferenced.
        unsafe { UnifiedPointer::wrap(self.0.pointer) }
    }
}

impl<T: DeviceCopy, K: Kind> Deref for HostBox<T, K> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T: DeviceCopy, K: Kind> DerefMut for HostBox<T, K> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}
