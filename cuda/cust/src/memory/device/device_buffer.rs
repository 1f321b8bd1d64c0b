//! [`DeviceBuffer`], which owns an array of elements in device memory.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, PodCastError, Zeroable};

use super::{AsyncCopyDestination, CopyDestination, DeviceSlice};
use crate::driver;
use crate::error::{CudaResult, DropResult, destroyed};
use crate::memory::{
    DeviceCopy, DeviceMemory, DevicePointer, cuda_free, cuda_free_async, cuda_malloc,
    cuda_malloc_async,
};
use crate::stream::Stream;

/// A buffer of `len` elements on a device. An empty buffer and a buffer of a zero-sized type have a
/// null address.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::DeviceBuffer;
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
/// assert_eq!(buffer.as_slice().len(), 3);
/// assert_eq!(buffer[1..].as_host_vec()?, [2.0, 3.0]);
///
/// // The same bytes as elements of another type.
/// let bits = buffer.cast::<u32>();
/// assert_eq!(bits.as_host_vec()?[0], 1.0_f32.to_bits());
/// assert!(bits.try_cast::<u64>().is_err(), "12 bytes are not a multiple of 8");
///
/// let zeros = DeviceBuffer::<u8>::zeroed(4)?;
/// assert_eq!(zeros.as_host_vec()?, [0; 4]);
/// DeviceBuffer::drop(zeros).map_err(|(error, _)| error)?;
///
/// // In stream order:
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: only the stream's work uses the buffers until it is done, and nothing reads the last
/// // two.
/// let buffers = unsafe {
///     [
///         DeviceBuffer::from_slice_async(&[1, 2], &stream)?,
///         DeviceBuffer::zeroed_async(2, &stream)?,
///         DeviceBuffer::uninitialized_async(2, &stream)?,
///         DeviceBuffer::uninitialized(2)?,
///     ]
/// };
/// stream.synchronize()?;
/// assert_eq!((buffers[0].as_host_vec()?, buffers[1].as_host_vec()?), (vec![1, 2], vec![0, 0]));
/// for buffer in buffers {
///     buffer.drop_async(&stream)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct DeviceBuffer<T: DeviceCopy> {
    pointer: DevicePointer<T>,
    len: usize,
}

// SAFETY: the buffer is the only owner of its device memory.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates memory for `len` elements and leaves their bytes undefined; on the CPU each byte
    /// is `0x7b`.
    ///
    /// # Safety
    /// The caller must write the elements before anything reads them.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or the
    /// driver's error.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let pointer = match len > 0 && size_of::<T>() > 0 {
            // SAFETY: the memory is owned by the returned buffer, which frees it when dropped.
            true => unsafe { cuda_malloc(len) }?,
            false => DevicePointer::null(),
        };
        Ok(Self { pointer, len })
    }

    /// Allocates like [`uninitialized`](Self::uninitialized), but in stream order.
    ///
    /// # Safety
    /// The caller must write the elements before anything reads them. Only work that `stream` runs
    /// after the allocation may use the elements.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or the
    /// driver's error.
    pub unsafe fn uninitialized_async(len: usize, stream: &Stream) -> CudaResult<Self> {
        let pointer = match len > 0 && size_of::<T>() > 0 {
            // SAFETY: the memory is owned by the returned buffer, which frees it when dropped.
            true => unsafe { cuda_malloc_async(stream, len) }?,
            false => DevicePointer::null(),
        };
        Ok(Self { pointer, len })
    }

    /// Frees the memory after the work submitted to `stream` so far, without waiting for that work.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        match this.pointer.is_null() {
            true => Ok(()),
            // SAFETY: the allocation is live and is freed only once.
            false => unsafe { cuda_free_async(stream, this.pointer) },
        }
    }

    /// Takes ownership of the device memory at `pointer`.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::memory::{DeviceBuffer, cuda_malloc, memcpy_htod};
    ///
    /// let _context = cust::quick_init()?;
    /// // SAFETY: the copy initialises both elements, which only the buffer owns.
    /// let buffer = unsafe {
    ///     let data = cuda_malloc::<u32>(2)?;
    ///     memcpy_htod(data.as_raw(), [7_u32, 8].as_ptr().cast(), 8)?;
    ///     DeviceBuffer::from_raw_parts(data, 2)
    /// };
    /// assert_eq!(buffer.as_host_vec()?, [7, 8]);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// `pointer` must be the address that the driver returned for an allocation. The allocation
    /// must contain `len` valid elements, and nothing else may free it.
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: DevicePointer<T>, len: usize) -> Self {
        Self { pointer, len }
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the buffer.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        if this.pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the allocation is live and is freed only once.
        let result = unsafe { cuda_free(this.pointer) };
        destroyed(this, result)
    }

    /// Copies `slice` to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the code below initialises all elements before anything reads them.
        let mut made = unsafe { Self::uninitialized(slice.len()) }?;
        made.copy_from(slice)?;
        Ok(made)
    }

    /// Copies `slice` to the device in stream order.
    ///
    /// # Safety
    /// Until the stream's work is done, `slice` must stay alive and unchanged, and only work of the
    /// same stream may use the returned buffer.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let mut made = Self::uninitialized_async(slice.len(), stream)?;
            made.async_copy_from(slice, stream)?;
            Ok(made)
        }
    }

    /// Returns the whole buffer as a device slice.
    #[must_use]
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// Allocates `len` elements and sets their bytes to zero.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or the
    /// driver's error.
    pub fn zeroed(len: usize) -> CudaResult<Self> {
        // SAFETY: the code below initialises all elements before anything reads them.
        unsafe {
            let made = Self::uninitialized(len)?;
            if !made.pointer.is_null() {
                driver::cuMemsetD8_v2(made.pointer.as_raw(), 0, made.size_in_bytes())?;
            }
            Ok(made)
        }
    }

    /// Allocates `len` elements and sets their bytes to zero, in stream order.
    ///
    /// # Safety
    /// Only work that `stream` runs after the allocation may use the returned buffer.
    ///
    /// # Errors
    /// Returns `InvalidMemoryAllocation` if the size in bytes exceeds the address space, or the
    /// driver's error.
    pub unsafe fn zeroed_async(len: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let made = Self::uninitialized_async(len, stream)?;
            if !made.pointer.is_null() {
                let (address, bytes) = (made.pointer.as_raw(), made.size_in_bytes());
                driver::cuMemsetD8Async(address, 0, bytes, stream.as_inner())?;
            }
            Ok(made)
        }
    }
}

impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// Converts the buffer to elements of type `B` without changing its bytes.
    ///
    /// # Panics
    /// Panics if [`try_cast`](Self::try_cast) fails.
    #[must_use]
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        match self.try_cast() {
            Ok(cast) => cast,
            Err(error) => panic!("cannot cast a device buffer: {error}"),
        }
    }

    /// Converts the buffer to elements of type `B` without changing its bytes.
    ///
    /// # Errors
    /// Returns an error if the address is not aligned for `B` or the size is not a multiple of the
    /// size of `B`. In this case, the buffer is freed.
    pub fn try_cast<B: Pod + DeviceCopy>(self) -> Result<DeviceBuffer<B>, PodCastError> {
        let bytes = self.size_in_bytes();
        if !self.pointer.as_raw().is_multiple_of(align_of::<B>() as u64) {
            return Err(PodCastError::TargetAlignmentGreaterAndInputNotAligned);
        }
        let len = match (size_of::<A>(), size_of::<B>()) {
            (a, b) if a == b => self.len,
            (0, _) | (_, 0) => return Err(PodCastError::SizeMismatch),
            (_, b) if bytes.is_multiple_of(b) => bytes / b,
            _ => return Err(PodCastError::OutputSliceWouldHaveSlop),
        };
        Ok(DeviceBuffer { pointer: ManuallyDrop::new(self).pointer.cast(), len })
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        // SAFETY: `self.pointer` points to `self.len` elements, which live as long as `self`.
        unsafe { DeviceSlice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        // SAFETY: `self.pointer` points to `self.len` elements, and `self` is borrowed exclusively.
        unsafe { DeviceSlice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: the allocation is live and is freed only once. Drop cannot report a failure.
            let _ = unsafe { cuda_free(self.pointer) };
        }
    }
}
