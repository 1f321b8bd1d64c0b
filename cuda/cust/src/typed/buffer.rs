//! [`Buffer`], an array of elements in device memory, and copies between buffers and host memory.

use std::marker::PhantomData;

use bytemuck::Pod;
use cuda_std::launch::DevicePointer;
use cuda_std::{DeviceSlice, DeviceSliceMut};

use super::elements::Elements;
use super::memory::{ALIGN, Memory};
use super::{Device, DeviceError, ErrorKind, Pinned, PinnedCopy, Stream};

/// A buffer of `len` elements in device memory. All elements are initially zero.
///
/// ```
/// use cust::typed::{Buffer, Device, Pinned};
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let mut buffer = Buffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
/// buffer.upload(&stream, &[4.0, 5.0, 6.0])?;
/// assert_eq!(buffer.download(&stream)?, [4.0, 5.0, 6.0]);
///
/// let mut copy = Buffer::new(&device, buffer.len())?;
/// copy.copy_from(&stream, &buffer)?;
/// // Kernels take the views.
/// let (input, out) = (buffer.view(), copy.view_mut());
/// assert_ne!(input.as_device_ptr(), out.as_device_ptr());
///
/// // Asynchronous copies own page-locked memory until they are done.
/// let mut elements = Pinned::new(&device, 3)?;
/// elements.fill(7.0);
/// let elements = buffer.upload_async(&stream, elements)?.wait()?;
/// assert_eq!(buffer.download_async(&stream, elements)?.wait()?[..], [7.0; 3]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Buffer<T> {
    memory: Memory,
    len: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Creates a buffer of `len` elements and sets their bytes to zero.
    #[track_caller]
    pub fn new(device: &Device, len: u32) -> Result<Self, DeviceError> {
        const { assert!(align_of::<T>() <= ALIGN, "the alignment must be at most 256 bytes") };
        let memory = Memory::zeroed(device, bytes::<T>("allocating a buffer", len as usize)?)?;
        Ok(Self { memory, len, element: PhantomData })
    }

    /// Creates a buffer that contains a copy of `elements`.
    #[track_caller]
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self, DeviceError> {
        let len = u32::try_from(elements.len()).map_err(|_| {
            let size = format!("{} elements; a buffer must have fewer than 2³²", elements.len());
            DeviceError::new("allocating a buffer", ErrorKind::ImpossibleSize(size))
        })?;
        let mut buffer = Self::new(stream.device(), len)?;
        buffer.upload(stream, elements)?;
        Ok(buffer)
    }

    /// Creates a buffer from an existing allocation of `len` elements. The buffer frees the
    /// allocation when dropped.
    ///
    /// To pass memory to kernels without owning it, create a [`DeviceSlice`] of the memory.
    ///
    /// # Safety
    /// - The allocation must come from [`into_raw`](Self::into_raw) of a buffer on this device with
    ///   the same length and element size. On a GPU, it may also come from `cuMemAlloc` in the
    ///   device's context, and then it may be longer than the buffer.
    /// - Every element must be initialised, and nothing else may free or use the allocation.
    ///
    /// # Errors
    /// Returns [`ErrorKind::ImpossibleSize`] if the length is zero. The caller then still owns the
    /// allocation.
    #[track_caller]
    pub unsafe fn from_raw(
        device: &Device,
        pointer: DevicePointer<T>,
        len: u32,
    ) -> Result<Self, DeviceError> {
        const OP: &str = "taking over a buffer";
        // SAFETY: the caller upholds this function's safety contract.
        let memory =
            unsafe { Memory::from_raw(device, pointer.as_raw(), bytes::<T>(OP, len as usize)?) }?;
        Ok(Self { memory, len, element: PhantomData })
    }

    /// Releases ownership of the allocation. The caller must free it with
    /// [`from_raw`](Self::from_raw), or on a GPU with `cuMemFree`, and must keep the device alive
    /// until then.
    #[must_use = "the memory is leaked if nothing frees it"]
    pub fn into_raw(self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.memory.into_raw())
    }

    /// Returns the address of the first element for use with other libraries.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.memory.address())
    }

    /// Returns the number of elements, which is never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns a view that a kernel can read.
    #[must_use]
    pub fn view(&self) -> DeviceSlice<'_, T> {
        // SAFETY: `self.memory` has `self.len` elements and lives as long as the returned view.
        // Dropping the memory first waits for launches.
        unsafe { DeviceSlice::new(self.memory.place(), self.memory.pointer(), self.len) }
    }

    /// Returns a view that a kernel can write.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: `self.memory` has `self.len` elements, lives as long as the returned view, and is
        // borrowed exclusively. Dropping the memory first waits for launches.
        unsafe { DeviceSliceMut::new(self.memory.place(), self.memory.pointer(), self.len) }
    }

    /// Submits a write of zero to all bytes of the buffer, without waiting.
    #[track_caller]
    pub fn clear(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let bytes = self.bytes();
        // SAFETY: the memory has the bytes of all elements.
        unsafe { self.memory.clear(stream, bytes) }
    }

    /// Copies `elements` into the buffer and waits until the copy is done.
    #[track_caller]
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<(), DeviceError> {
        self.elements().upload(stream, elements)
    }

    /// Submits a copy of `elements` into the buffer without waiting. The returned [`PinnedCopy`]
    /// owns the elements until the copy is done.
    #[track_caller]
    pub fn upload_async(
        &mut self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.elements().upload_async(stream, elements)
    }

    /// Waits for the work submitted to the stream so far, and copies the buffer to the host.
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.len as usize];
        self.elements().download(stream, &mut elements)?;
        Ok(elements)
    }

    /// Submits a copy of the buffer to `elements` without waiting. The returned [`PinnedCopy`] owns
    /// the elements until the copy is done.
    #[track_caller]
    pub fn download_async(
        &self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.elements().download_async(stream, elements)
    }

    /// Submits a copy of `buffer`, which must have the same length, into this buffer without
    /// waiting.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, buffer: &Self) -> Result<(), DeviceError> {
        self.elements().copy_from(stream, &buffer.elements())
    }

    /// Submits a copy of the buffer to `elements` without waiting.
    ///
    /// # Safety
    /// The caller must keep `elements` alive and otherwise unused until the copy is done.
    #[track_caller]
    pub unsafe fn submit_download(
        &self,
        stream: &Stream,
        elements: &mut [T],
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.elements().submit_download(stream, elements) }
    }

    fn bytes(&self) -> usize {
        self.len as usize * size_of::<T>()
    }

    /// Describes the buffer as one row of elements.
    fn elements(&self) -> Elements<'_, T> {
        let (size, pitch) = ((self.len as usize, 1), self.bytes());
        Elements { memory: &self.memory, size, pitch, element: PhantomData }
    }
}

/// Returns the size of `len` elements in bytes.
#[track_caller]
fn bytes<T>(operation: &'static str, len: usize) -> Result<usize, DeviceError> {
    if let Some(bytes) = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes > 0) {
        return Ok(bytes);
    }
    let size = format!(
        "{len} elements of {} bytes; the size must be at least 1 byte and fit the address space",
        size_of::<T>()
    );
    // The error is not made in a closure, where its line would be this one.
    Err(DeviceError::new(operation, ErrorKind::ImpossibleSize(size)))
}
