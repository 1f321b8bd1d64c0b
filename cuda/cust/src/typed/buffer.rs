//! One-dimensional device memory.

use bytemuck::Pod;
use cuda_std::{DeviceSlice, DeviceSliceMut};

use super::{Device, DeviceError, Image, Stream};

/// `len` elements on a device, zero at first: an [`Image`] of one row.
#[derive(Debug)]
pub struct Buffer<T>(Image<T>);

impl<T: Pod> Buffer<T> {
    /// A buffer of zeros.
    ///
    /// # Errors
    /// A length of zero or beyond memory, or what the driver says.
    #[track_caller]
    pub fn new(device: &Device, len: u32) -> Result<Self, DeviceError> {
        Image::new(device, len, 1).map(Self)
    }

    /// A buffer filled from `elements`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[track_caller]
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self, DeviceError> {
        let len = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        Image::from_slice(stream, len, 1, elements).map(Self)
    }

    /// Number of elements; never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> u32 {
        self.0.width()
    }

    /// For a kernel to read.
    #[must_use]
    pub fn view(&self) -> DeviceSlice<'_, T> {
        // SAFETY: the memory holds these elements and lives as long as the borrow; dropping it
        // waits for launches.
        unsafe {
            let memory = self.0.memory();
            DeviceSlice::new(memory.place(), memory.pointer(), self.len())
        }
    }

    /// For a kernel to write.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as in `view`, and the borrow is exclusive.
        unsafe {
            let memory = self.0.memory();
            DeviceSliceMut::new(memory.place(), memory.pointer(), self.len())
        }
    }

    /// Fills the buffer and waits until it is done.
    ///
    /// # Errors
    /// A wrong number of elements, a stream of another device, or what the driver says.
    #[track_caller]
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<(), DeviceError> {
        self.0.upload(stream, elements)
    }

    /// Waits for the stream's work and returns the elements.
    ///
    /// # Errors
    /// A stream of another device, or what the driver says, of earlier work too.
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        self.0.download(stream)
    }

    /// Submits the copy of another buffer of the same length and does not wait.
    ///
    /// # Errors
    /// Another length, another device, or what the driver says.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, buffer: &Self) -> Result<(), DeviceError> {
        self.0.copy_from(stream, &buffer.0)
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
        // SAFETY: as the caller vouches.
        unsafe { self.0.submit_download(stream, elements) }
    }
}
