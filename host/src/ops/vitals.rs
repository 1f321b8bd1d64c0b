//! Samples pictures on the device, so that the caller detects cameras that deliver the same picture again and again, or
//! pictures that show nothing. `kernels_gpu::vitals` defines the samples.
//!
//! [`Vitals::checksum`] is equal for equal pictures, and [`Vitals::variance`] is near 0 for a picture of one colour.
//! This module does not judge the results; [`live`](crate::live) does.

use cuda_std::DeviceView;
use kernels_gpu::vitals::{SamplePictures, SamplePicturesP010};
use shared_types::vitals::{BLOCK_THREADS, DeviceFourPictures, MAX_PICTURES};
use thiserror::Error;

pub use shared_types::vitals::{SAMPLES, Vitals};

use crate::device::{Buffer, Device, DeviceError, LaunchConfig, Pinned, Stream};
use crate::frame::FrameView;

/// The error if the number or the size of the pictures is wrong, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VitalsError {
    /// There are no pictures, or too many.
    #[error("sampling pictures: {0} pictures were passed; pass 1 to {MAX_PICTURES}")]
    Count(usize),
    /// Some pictures are P010, and others are not.
    #[error(
        "sampling pictures: picture {0} (counted from 0) differs from the first one in depth; sample P010 pictures apart from others"
    )]
    Depth(usize),
    /// A picture has no pixels.
    #[error("sampling pictures: picture {0} (counted from 0) has no pixels; leave it out")]
    Empty(usize),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Samples pictures. Owns the device memory for the results of one launch.
#[derive(Debug)]
pub struct VitalsSampler {
    vitals: Buffer<Vitals>,
}

impl VitalsSampler {
    /// The number of elements that the host memory for [`submit`](Self::submit) must have.
    pub(crate) const LEN: u32 = MAX_PICTURES;

    /// Allocates the memory on `device`.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the allocation fails.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { vitals: Buffer::new(device, MAX_PICTURES)? })
    }

    /// Samples 1 to 16 pictures, which may differ in size and format, and waits for the results.
    ///
    /// # Errors
    /// Returns [`VitalsError`] if there are too few or too many pictures, a picture is empty, or the device fails.
    #[track_caller]
    pub fn sample(
        &mut self,
        stream: &Stream,
        pictures: &[FrameView<'_>],
    ) -> Result<Vec<Vitals>, VitalsError> {
        // SAFETY: the download below waits for the kernel. If a caller has submitted work on the sampler in another
        // stream, that caller ensures that it is done.
        unsafe { self.submit(stream, pictures)? };
        let mut vitals = self.vitals.download(stream)?;
        vitals.truncate(pictures.len());
        Ok(vitals)
    }

    /// Submits the sampling of 1 to 16 pictures, without waiting.
    ///
    /// # Safety
    /// - `pictures` must stay valid and unchanged until the kernel is done.
    /// - Work on the sampler in other streams must be done before this call.
    #[track_caller]
    pub(crate) unsafe fn submit(
        &mut self,
        stream: &Stream,
        pictures: &[FrameView<'_>],
    ) -> Result<(), VitalsError> {
        let Some(first) = pictures.first().filter(|_| pictures.len() <= MAX_PICTURES as usize)
        else {
            return Err(VitalsError::Count(pictures.len()));
        };
        if let Some(empty) = pictures.iter().position(|p| p.format().size.min_element() == 0) {
            return Err(VitalsError::Empty(empty));
        }
        let bits = |picture: &FrameView<'_>| picture.format().pixels.bits();
        let deep = bits(first) > 8;
        if let Some(other) = pictures.iter().position(|picture| bits(picture) != bits(first)) {
            return Err(VitalsError::Depth(other));
        }
        // Blocks for pictures that do not exist are not launched, so any picture can stand in for them.
        let four = |from: usize| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| bytes(pictures.get(from + i).unwrap_or(first)));
            DeviceFourPictures { a, b, c, d }
        };
        let is_rgba = |picture: &FrameView<'_>| matches!(picture, FrameView::Rgba8(_));
        let rgba = pictures.iter().rev().fold(0, |bits, p| bits << 1 | u32::from(is_rgba(p)));
        let config = LaunchConfig {
            grid: [pictures.len() as u32, 1, 1],
            block: [BLOCK_THREADS, 1, 1],
            dynamic_shared: 0,
        };
        let (first, second, third, fourth) = (four(0), four(4), four(8), four(12));
        let out = self.vitals.view_mut();
        // SAFETY: the grid has one block of `BLOCK_THREADS` threads for each picture, of which there are at most
        // `MAX_PICTURES`, and `self.vitals` has that many elements. No picture is empty. Either all pictures are P010,
        // or none of them and `rgba` matches the formats, so the kernel reads only the bytes of the pictures.
        let launched = unsafe {
            if deep {
                let kernel = SamplePicturesP010 { first, second, third, fourth, out };
                stream.launch_unchecked(&config, &kernel)
            } else {
                let kernel = SamplePictures { first, second, third, fourth, rgba, out };
                stream.launch_unchecked(&config, &kernel)
            }
        };
        launched.map_err(VitalsError::from)
    }

    /// Submits the copy of the results to `results`, which must have [`LEN`](Self::LEN) elements, without waiting.
    /// Element `i` belongs to picture `i`; elements without a picture are unspecified.
    ///
    /// # Safety
    /// `results` must stay valid, and must not be accessed, until the copy is done.
    pub(crate) unsafe fn submit_download(
        &self,
        stream: &Stream,
        results: &mut Pinned<Vitals>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees that `results` stays valid and is not accessed until the copy is done.
        unsafe { self.vitals.submit_download(stream, results) }
    }
}

/// Returns the bytes of an RGBA picture, or of the luma plane of an NV12 or P010 picture.
fn bytes<'a>(picture: &FrameView<'a>) -> DeviceView<'a, u8> {
    match picture {
        FrameView::Nv12(planes, _) => planes.y,
        FrameView::P010(planes, _) => bytes_of(&planes.y),
        FrameView::Rgba8(view) => bytes_of(view),
    }
}

/// Returns a view of the bytes of a plane.
fn bytes_of<'a, T: bytemuck::Pod>(view: &DeviceView<'a, T>) -> DeviceView<'a, u8> {
    let ((width, height), (rows, pitch)) = (view.size(), view.rows());
    let bytes = size_of::<T>() as u32;
    // SAFETY: the view covers the same rows, which stay borrowed as long as the view exists. The number of bytes of a row
    // does not overflow, because the pitch is not less.
    unsafe { DeviceView::new(view.place(), rows.cast(), bytes * width, height, pitch) }
}
