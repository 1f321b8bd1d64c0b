//! Elements on a device, owned.

use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, PodCastError, Zeroable};

use super::{AsyncCopyDestination, CopyDestination, DeviceSlice};
use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::memory::{
    DeviceCopy, DeviceMemory, DevicePointer, cuda_free, cuda_free_async, cuda_malloc,
    cuda_malloc_async,
};
use crate::stream::Stream;

/// `len` elements on a device. An empty buffer, or one of a type of no size, has a null address.
#[derive(Debug)]
#[repr(C)]
pub struct DeviceBuffer<T: DeviceCopy> {
    pointer: DevicePointer<T>,
    len: usize,
}

// SAFETY: owned plain memory.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Elements whose bytes are undefined; on the CPU each byte is `0xff`.
    ///
    /// # Safety
    /// They are written before anybody reads them.
    ///
    /// # Errors
    /// A size beyond the address space, or what the driver says.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let pointer = match len > 0 && size_of::<T>() > 0 {
            // SAFETY: freed by drop.
            true => unsafe { cuda_malloc(len) }?,
            false => DevicePointer::null(),
        };
        Ok(Self { pointer, len })
    }

    /// As [`uninitialized`](Self::uninitialized), in stream order.
    ///
    /// # Safety
    /// They are written before anybody reads them, and used only by work behind the allocation.
    ///
    /// # Errors
    /// A size beyond the address space, or what the driver says.
    pub unsafe fn uninitialized_async(len: usize, stream: &Stream) -> CudaResult<Self> {
        let pointer = match len > 0 && size_of::<T>() > 0 {
            // SAFETY: freed by drop.
            true => unsafe { cuda_malloc_async(stream, len) }?,
            false => DevicePointer::null(),
        };
        Ok(Self { pointer, len })
    }

    /// Frees the memory in stream order, without waiting.
    ///
    /// # Errors
    /// What the driver says.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        match this.pointer.is_null() {
            true => Ok(()),
            // SAFETY: allocated once, freed once.
            false => unsafe { cuda_free_async(stream, this.pointer) },
        }
    }

    /// Takes over an allocation.
    ///
    /// # Safety
    /// It is an allocation of the driver's that holds `len` elements, and nobody else frees it.
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: DevicePointer<T>, len: usize) -> Self {
        Self { pointer, len }
    }

    /// Frees the memory; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the buffer.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(this: Self) -> DropResult<Self> {
        if this.pointer.is_null() {
            return Ok(());
        }
        // SAFETY: allocated once, freed once.
        match unsafe { cuda_free(this.pointer) } {
            Ok(()) => {
                mem::forget(this);
                Ok(())
            }
            Err(error) => Err((error, this)),
        }
    }

    /// A copy of `slice`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written before anybody reads.
        let mut made = unsafe { Self::uninitialized(slice.len()) }?;
        made.copy_from(slice)?;
        Ok(made)
    }

    /// A copy of `slice`, in stream order.
    ///
    /// # Safety
    /// `slice` lives and stays as it is until the stream's work is done, and nothing else uses the result
    /// before then but work of the same stream.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut made = Self::uninitialized_async(slice.len(), stream)?;
            made.async_copy_from(slice, stream)?;
            Ok(made)
        }
    }

    /// All elements.
    #[must_use]
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// `len` elements of zeros.
    ///
    /// # Errors
    /// A size beyond the address space, or what the driver says.
    pub fn zeroed(len: usize) -> CudaResult<Self> {
        // SAFETY: written before anybody reads.
        unsafe {
            let made = Self::uninitialized(len)?;
            if !made.pointer.is_null() {
                driver::cuMemsetD8_v2(made.pointer.as_raw(), 0, made.size_in_bytes())?;
            }
            Ok(made)
        }
    }

    /// `len` elements of zeros, in stream order.
    ///
    /// # Safety
    /// They are used only by work behind the allocation.
    ///
    /// # Errors
    /// A size beyond the address space, or what the driver says.
    pub unsafe fn zeroed_async(len: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: as the caller vouches.
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
    /// The same bytes as elements of another type.
    ///
    /// # Panics
    /// Where [`try_cast`](Self::try_cast) fails.
    #[must_use]
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        match self.try_cast() {
            Ok(cast) => cast,
            Err(error) => panic!("casting a device buffer: {error}"),
        }
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// An address that is not aligned as `B`, or bytes that are no whole number of them. The buffer is
    /// freed then.
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
        // SAFETY: the buffer holds so many elements, and lives as long as the borrow.
        unsafe { DeviceSlice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { DeviceSlice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: allocated once, freed once. Nobody is there to tell of a failure.
            let _ = unsafe { cuda_free(self.pointer) };
        }
    }
}
