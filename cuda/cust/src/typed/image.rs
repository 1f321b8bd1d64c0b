//! Images in device memory, and copies between them and the host. An image consists of rows that
//! are `pitch` bytes apart.

use std::marker::PhantomData;

use bytemuck::Pod;
use cuda_std::{DeviceView, DeviceViewMut};

use super::elements::Elements;
use super::memory::{ALIGN, Memory};
use super::rows::{Rows, RowsMut};
use super::{Device, DeviceError, ErrorKind, Pinned, PinnedCopy, Stream};

/// An image of `height` rows of `width` elements in device memory. All elements are initially zero.
///
/// Rows start at multiples of 256 bytes unless the caller chooses a pitch.
#[derive(Debug)]
pub struct Image<T> {
    memory: Memory,
    width: u32,
    height: u32,
    pitch: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Image<T> {
    /// Creates an image of `width` × `height` elements and sets their bytes to zero.
    #[track_caller]
    pub fn new(device: &Device, width: u32, height: u32) -> Result<Self, DeviceError> {
        // If the rounded row size does not fit in 64 bits, the pitch becomes `u64::MAX`, which
        // `with_pitch` rejects.
        let row = u64::from(width).saturating_mul(size_of::<T>() as u64);
        let pitch = row.checked_next_multiple_of(ALIGN as u64).unwrap_or(u64::MAX);
        Self::with_pitch(device, width, height, pitch)
    }

    /// Creates an image of zeros whose rows are `pitch` bytes apart.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new), and [`ErrorKind::ImpossibleSize`] if `pitch` is
    /// less than the size of a row, not a multiple of the alignment of `T`, or at least 4 GiB.
    #[track_caller]
    pub fn with_pitch(
        device: &Device,
        width: u32,
        height: u32,
        pitch: u64,
    ) -> Result<Self, DeviceError> {
        let row = u64::from(width).saturating_mul(size_of::<T>() as u64);
        const { assert!(align_of::<T>() <= ALIGN, "the alignment must be at most 256 bytes") };
        let fits = width > 0 && pitch >= row && pitch.is_multiple_of(align_of::<T>() as u64);
        let bytes = pitch.checked_mul(height.into()).and_then(|bytes| usize::try_from(bytes).ok());
        let (Some(bytes), Ok(pitch), true) = (bytes, u32::try_from(pitch), fits) else {
            let size = format!(
                "{width}×{height} elements with a pitch of {pitch} bytes; the image must not be \
                 empty or exceed the address space, and the pitch must be at least {row}, a \
                 multiple of {} and below 4 GiB",
                align_of::<T>()
            );
            return Err(DeviceError::new("allocating an image", ErrorKind::ImpossibleSize(size)));
        };
        let memory = Memory::zeroed(device, bytes)?;
        Ok(Self { memory, width, height, pitch, element: PhantomData })
    }

    /// Creates an image that contains a copy of `elements`, which are ordered row by row without
    /// padding.
    #[track_caller]
    pub fn from_slice(
        stream: &Stream,
        width: u32,
        height: u32,
        elements: &[T],
    ) -> Result<Self, DeviceError> {
        let mut image = Self::new(stream.device(), width, height)?;
        image.upload(stream, elements)?;
        Ok(image)
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the distance between the starts of consecutive rows in bytes.
    #[must_use]
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Returns the address of the first row. On the CPU, the address points to host memory. On a
    /// GPU, it is a device address that only kernels and the driver can access.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.memory.pointer()
    }

    /// Returns the device that holds the image.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.memory.device()
    }

    /// Returns a view that a kernel can read.
    #[must_use]
    pub fn view(&self) -> DeviceView<'_, T> {
        // SAFETY: `self.memory` has `self.height` rows and lives as long as the returned view.
        // Dropping the memory first waits for launches. A stream runs later writes only after the
        // launch that reads the view.
        unsafe {
            let data = self.memory.pointer();
            DeviceView::new(self.memory.place(), data, self.width, self.height, self.pitch)
        }
    }

    /// Returns a view that a kernel can write.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        // SAFETY: `self.memory` has `self.height` rows, lives as long as the returned view, and is
        // borrowed exclusively. Dropping the memory first waits for launches.
        unsafe {
            let data = self.memory.pointer();
            DeviceViewMut::new(self.memory.place(), data, self.width, self.height, self.pitch)
        }
    }

    /// Copies `elements`, which are ordered row by row without padding, into the image and waits
    /// until the copy is done. The wait is needed because a copy from page-locked memory still
    /// reads the elements after the driver call has returned.
    #[track_caller]
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<(), DeviceError> {
        self.elements().upload(stream, elements)
    }

    /// Waits for the work submitted to the stream so far, and copies the image to the host. The
    /// elements are ordered row by row without padding.
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.width as usize * self.height as usize];
        self.download_to(stream, &mut elements)?;
        Ok(elements)
    }

    /// Waits for the work submitted to the stream so far, and copies the image to `elements`, row
    /// by row without padding.
    #[track_caller]
    pub fn download_to(&self, stream: &Stream, elements: &mut [T]) -> Result<(), DeviceError> {
        self.elements().download(stream, elements)
    }

    /// Submits a copy of `elements` into the image, row after row without padding, and does not
    /// wait. The returned [`PinnedCopy`] owns the elements until the copy is done.
    #[track_caller]
    pub fn upload_async(
        &mut self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.elements().upload_async(stream, elements)
    }

    /// Submits a copy of the image to `elements`, row after row without padding, and does not wait.
    /// The returned [`PinnedCopy`] owns the elements until the copy is done.
    #[track_caller]
    pub fn download_async(
        &self,
        stream: &Stream,
        elements: Pinned<T>,
    ) -> Result<PinnedCopy<T>, DeviceError> {
        self.elements().download_async(stream, elements)
    }

    /// Submits a copy of `image`, which must have the same size, into this image without waiting.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &Stream, image: &Self) -> Result<(), DeviceError> {
        self.elements().copy_from(stream, &image.elements())
    }

    /// Returns the image's rows as the source of a copy.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        self.elements().rows()
    }

    /// Returns the rows of the image from column `x` of row `y` on, as the source of a copy. `x` and
    /// `y` must be inside the image; only debug builds check this. The part has at most
    /// `width - x` columns and `height - y` rows.
    #[must_use]
    pub fn rows_from(&self, x: u32, y: u32) -> Rows<'_> {
        debug_assert!(x < self.width && y < self.height, "the part starts inside the image");
        let (x, pitch) = (x as usize * size_of::<T>(), self.pitch as usize);
        Rows::Device { memory: &self.memory, first: y as usize * pitch + x, pitch }
    }

    /// Returns the image's rows as the destination of a copy.
    #[must_use]
    pub fn rows_mut(&mut self) -> RowsMut<'_> {
        self.elements().rows_mut()
    }

    fn elements(&self) -> Elements<'_, T> {
        let size = (self.width as usize, self.height as usize);
        let pitch = self.pitch as usize;
        Elements { memory: &self.memory, size, pitch, element: PhantomData }
    }
}
