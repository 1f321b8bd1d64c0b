//! One-dimensional device memory.

use std::marker::PhantomData;

use bytemuck::Pod;
use cuda_std::launch::DevicePointer;
use cuda_std::{DeviceSlice, DeviceSliceMut};

use super::memory::{ALIGN, Memory};
use super::stream::{Rows, RowsMut};
use super::{Device, DeviceError, ErrorKind, Pinned, PinnedCopy, Stream};

/// `len` elements on a device, zero at first.
#[derive(Debug)]
pub struct Buffer<T> {
    memory: Memory,
    len: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// A buffer of zeros.
    ///
    /// # Errors
    /// A length of zero or beyond memory, or what the driver says.
    #[track_caller]
    pub fn new(device: &Device, len: u32) -> Result<Self, DeviceError> {
        const { assert!(align_of::<T>() <= ALIGN, "buffers are aligned to 256 bytes") };
        let memory = Memory::zeroed(device, bytes::<T>("allocating a buffer", len as usize)?)?;
        Ok(Self { memory, len, element: PhantomData })
    }

    /// A buffer filled from `elements`.
    ///
    /// # Errors
    /// As [`new`](Self::new), and 2³² elements or more.
    #[track_caller]
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self, DeviceError> {
        let len = u32::try_from(elements.len()).map_err(|_| {
            let size = format!("{} elements, 2³² or more", elements.len());
            DeviceError::new("allocating a buffer", ErrorKind::ImpossibleSize(size))
        })?;
        let mut buffer = Self::new(stream.device(), len)?;
        buffer.upload(stream, elements)?;
        Ok(buffer)
    }

    /// Takes over an allocation of `len` elements; drop frees it.
    ///
    /// To use memory without taking it over, pass kernels a [`DeviceSlice`] of it.
    ///
    /// # Safety
    /// - The allocation comes from [`into_raw`](Self::into_raw) of a buffer of this device that had as
    ///   many elements of this size, or on a GPU from `cuMemAlloc` in the device's context, whose first
    ///   elements it holds then.
    /// - Every element is initialised, and nothing else frees or uses the allocation.
    ///
    /// # Errors
    /// A length of zero. The allocation stays the caller's then.
    #[track_caller]
    pub unsafe fn from_raw(
        device: &Device,
        pointer: DevicePointer<T>,
        len: u32,
    ) -> Result<Self, DeviceError> {
        const OP: &str = "taking over a buffer";
        // SAFETY: as the caller vouches.
        let memory =
            unsafe { Memory::from_raw(device, pointer.as_raw(), bytes::<T>(OP, len as usize)?) }?;
        Ok(Self { memory, len, element: PhantomData })
    }

    /// Gives up the allocation, which the caller frees: by [`from_raw`](Self::from_raw), or on a GPU by
    /// `cuMemFree`. The caller keeps the device alive until then.
    #[must_use = "the memory is leaked if nothing frees it"]
    pub fn into_raw(self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.memory.into_raw())
    }

    /// The address of the first element, for other libraries.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.memory.address())
    }

    /// Number of elements; never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// For a kernel to read.
    #[must_use]
    pub fn view(&self) -> DeviceSlice<'_, T> {
        // SAFETY: the memory holds these elements and lives as long as the borrow; dropping it
        // waits for launches.
        unsafe { DeviceSlice::new(self.memory.place(), self.memory.pointer(), self.len) }
    }

    /// For a kernel to write.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as in `view`, and the borrow is exclusive.
        unsafe { DeviceSliceMut::new(self.memory.place(), self.memory.pointer(), self.len) }
    }

    /// Fills the buffer and waits until it is done.
    ///
    /// # Errors
    /// A wrong number of elements, a stream of another device, or what the driver says.
    #[track_caller]
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<(), DeviceError> {
        self.check_len("uploading a buffer", elements.len())?;
        let (from, bytes) = (host(elements), self.bytes());
        // SAFETY: both hold the bytes; the borrow lasts until the copy is done.
        unsafe { stream.copy_rows_now(from, self.rows_mut(), bytes, 1) }
    }

    /// Submits the copy of `elements` into the buffer and does not wait. The copy owns the elements until
    /// it is done.
    ///
    /// # Errors
    /// As [`upload`](Self::upload). The elements are freed then.
    #[track_caller]
    pub fn upload_async(
        &mut self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.check_len("uploading a buffer", elements.len())?;
        let (from, bytes) = (host(&elements), self.bytes());
        // SAFETY: both hold the bytes. The host memory lives until the stream has been waited for:
        // `PinnedCopy` keeps it, and freeing it waits for the device.
        unsafe { stream.copy_rows(from, self.rows_mut(), bytes, 1) }?;
        PinnedCopy::submitted(stream, elements)
    }

    /// Waits for the stream's work and returns the elements.
    ///
    /// # Errors
    /// A stream of another device, or what the driver says, of earlier work too.
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.len as usize];
        let to = host_mut(&mut elements);
        // SAFETY: both hold the bytes; the borrow lasts until the copy is done.
        unsafe { stream.copy_rows_now(self.rows(), to, self.bytes(), 1) }?;
        Ok(elements)
    }

    /// Submits the copy of the buffer to `elements` and does not wait. The copy owns the elements until it
    /// is done.
    ///
    /// # Errors
    /// A wrong number of elements, a stream of another device, or what the driver says. The elements are
    /// freed then.
    #[track_caller]
    pub fn download_async(
        &self,
        stream: &Stream,
        mut elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        // SAFETY: the host memory lives, and nothing else touches it, until the copy is done: `PinnedCopy`
        // keeps it, and freeing it waits for the device.
        unsafe { self.submit_download(stream, &mut elements) }?;
        PinnedCopy::submitted(stream, elements)
    }

    /// Submits the copy of another buffer of the same length and does not wait.
    ///
    /// # Errors
    /// Another length, another device, or what the driver says.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, buffer: &Self) -> Result<(), DeviceError> {
        self.check_len("copying a buffer", buffer.len as usize)?;
        // SAFETY: both hold the bytes; they live until launches are done, and copies are ordered by the
        // stream.
        unsafe { stream.copy_rows(buffer.rows(), self.rows_mut(), buffer.bytes(), 1) }
    }

    /// Submits the copy of the elements to the host and does not wait.
    ///
    /// # Safety
    /// `elements` live and nothing else touches them until the copy is done.
    ///
    /// # Errors
    /// As [`download`](Self::download), and a wrong number of elements.
    #[track_caller]
    pub unsafe fn submit_download(
        &self,
        stream: &Stream,
        elements: &mut [T],
    ) -> Result<(), DeviceError> {
        self.check_len("downloading a buffer", elements.len())?;
        // SAFETY: both hold the bytes; the rest is the caller's.
        unsafe { stream.copy_rows(self.rows(), host_mut(elements), self.bytes(), 1) }
    }

    fn bytes(&self) -> usize {
        self.len as usize * size_of::<T>()
    }

    /// The elements as one row.
    fn rows(&self) -> Rows<'_> {
        Rows::Device { memory: &self.memory, pitch: self.bytes() }
    }

    fn rows_mut(&mut self) -> RowsMut<'_> {
        RowsMut::Device { memory: &self.memory, pitch: self.bytes() }
    }

    #[track_caller]
    fn check_len(&self, operation: &'static str, len: usize) -> Result<(), DeviceError> {
        if len == self.len as usize {
            return Ok(());
        }
        let (found, expected) = ((len, 1), (self.len as usize, 1));
        let kind = ErrorKind::SizeMismatch { what: "elements", found, expected };
        Err(DeviceError::new(operation, kind))
    }
}

/// Host memory as one row.
fn host<T: Pod>(elements: &[T]) -> Rows<'_> {
    Rows::Host { bytes: bytemuck::cast_slice(elements), pitch: size_of_val(elements) }
}

fn host_mut<T: Pod>(elements: &mut [T]) -> RowsMut<'_> {
    let pitch = size_of_val(elements);
    RowsMut::Host { bytes: bytemuck::cast_slice_mut(elements), pitch }
}

/// Bytes of `len` elements.
#[track_caller]
fn bytes<T>(operation: &'static str, len: usize) -> Result<usize, DeviceError> {
    len.checked_mul(size_of::<T>()).filter(|&bytes| bytes > 0).ok_or_else(|| {
        let size = format!("{len} elements of {} bytes", size_of::<T>());
        DeviceError::new(operation, ErrorKind::ImpossibleSize(size))
    })
}
