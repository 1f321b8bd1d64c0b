//! Copies of all elements of a buffer or an image from and to contiguous host memory.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::memory::Memory;
use super::rows::{Rows, RowsMut};
use super::{DeviceError, ErrorKind, Pinned, PinnedCopy, Stream};

/// All elements of a buffer or an image. A method that writes them needs their exclusive borrow.
pub(super) struct Elements<'a, T> {
    pub(super) memory: &'a Memory,
    /// The number of elements per row, and of rows.
    pub(super) size: (usize, usize),
    /// The distance between the starts of consecutive rows in bytes.
    pub(super) pitch: usize,
    pub(super) element: PhantomData<T>,
}

impl<'a, T: Pod> Elements<'a, T> {
    #[track_caller]
    pub(super) fn upload(&self, stream: &Stream, elements: &[T]) -> Result<(), DeviceError> {
        self.check_len("uploading", elements.len())?;
        let (from, width) = (self.host(elements), self.width());
        // SAFETY: both sides have all rows, and stay borrowed until the copy is done.
        unsafe { stream.copy_rows_now(from, self.rows_mut(), width, self.size.1) }
    }

    #[track_caller]
    pub(super) fn upload_async(
        &self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.check_len("uploading", elements.len())?;
        let (from, width) = (self.host(&elements), self.width());
        // SAFETY: both sides have all rows. `PinnedCopy` owns the host memory until the copy is done,
        // and freeing that memory first waits for the device.
        unsafe { stream.copy_rows(from, self.rows_mut(), width, self.size.1) }?;
        PinnedCopy::submitted(stream, elements)
    }

    #[track_caller]
    pub(super) fn download(&self, stream: &Stream, elements: &mut [T]) -> Result<(), DeviceError> {
        // SAFETY: the elements stay borrowed until the copy is done.
        unsafe { self.submit_download(stream, elements) }?;
        stream.finish_copy()
    }

    /// Submits a copy to `elements`.
    ///
    /// # Safety
    /// `elements` must stay alive and otherwise unused until the copy is done.
    #[track_caller]
    pub(super) unsafe fn submit_download(
        &self,
        stream: &Stream,
        elements: &mut [T],
    ) -> Result<(), DeviceError> {
        self.check_len("downloading", elements.len())?;
        let (width, bytes) = (self.width(), bytemuck::cast_slice_mut(elements));
        let to = RowsMut::Host { bytes, pitch: width };
        // SAFETY: both sides have all rows. The caller upholds the rest of this function's safety
        // contract.
        unsafe { stream.copy_rows(self.rows(), to, width, self.size.1) }
    }

    #[track_caller]
    pub(super) fn download_async(
        &self,
        stream: &Stream,
        mut elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        // SAFETY: until the copy is done, `PinnedCopy` owns the host memory and nothing else
        // accesses it. Freeing that memory first waits for the device.
        unsafe { self.submit_download(stream, &mut elements) }?;
        PinnedCopy::submitted(stream, elements)
    }

    #[track_caller]
    pub(super) fn copy_from(&self, stream: &Stream, from: &Self) -> Result<(), DeviceError> {
        let (found, expected) = (from.size, self.size);
        if found != expected {
            let kind = ErrorKind::SizeMismatch { what: "elements", found, expected };
            return Err(DeviceError::new("copying", kind));
        }
        // SAFETY: both sides have all rows. Dropping them first waits for all work that uses them,
        // and the stream runs its copies in order.
        unsafe { stream.copy_rows(from.rows(), self.rows_mut(), self.width(), self.size.1) }
    }

    /// Returns the size of a row without padding, in bytes.
    fn width(&self) -> usize {
        self.size.0 * size_of::<T>()
    }

    pub(super) fn rows(&self) -> Rows<'a> {
        Rows::Device { memory: self.memory, first: 0, pitch: self.pitch }
    }

    pub(super) fn rows_mut(&self) -> RowsMut<'a> {
        RowsMut::Device { memory: self.memory, first: 0, pitch: self.pitch }
    }

    fn host<'b>(&self, elements: &'b [T]) -> Rows<'b> {
        Rows::Host { bytes: bytemuck::cast_slice(elements), pitch: self.width() }
    }

    #[track_caller]
    fn check_len(&self, operation: &'static str, len: usize) -> Result<(), DeviceError> {
        if len == self.size.0 * self.size.1 {
            return Ok(());
        }
        let (found, expected) = ((len, 1), self.size);
        let kind = ErrorKind::SizeMismatch { what: "elements", found, expected };
        Err(DeviceError::new(operation, kind))
    }
}
