//! Samples pictures on the device, so that the caller detects cameras that deliver the same picture again and again, or
//! pictures that show nothing. `kernels_gpu::frame_statistics` defines the samples.
//!
//! [`FrameStatistics::checksum`] is equal for equal pictures, and [`FrameStatistics::variance`] is near 0 for a picture of one colour.
//! This module does not judge the results; [`live`](crate::live) does.

use cuda_std::{DeviceTable, DeviceView};
use kernels_gpu::frame_statistics::{SamplePictures, SamplePicturesP010};
use shared_types::frame_statistics::BLOCK_THREADS;
use shared_types::stitch::MAX_CAMERAS;

pub use shared_types::frame_statistics::{FrameStatistics, SAMPLES};

use crate::device::{Buffer, Device, DeviceError, LaunchConfig, Stream};
use crate::error::operation_error;
use crate::frame::FrameView;

operation_error! {
    /// The error if the number or the size of the pictures is wrong, or the device failed.
    StatisticsError: "sampling pictures: {0}"
}

/// Samples pictures. Owns the device memory for the results of one launch.
#[derive(Debug)]
pub struct StatisticsSampler {
    /// [`MAX_CAMERAS`] elements. Element `i` belongs to picture `i` of the latest launch.
    pub(crate) statistics: Buffer<FrameStatistics>,
}

impl StatisticsSampler {
    /// Allocates the memory on `device`.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { statistics: Buffer::new(device, MAX_CAMERAS as u32)? })
    }

    /// Samples 1 to 16 pictures, which may differ in size and format, and waits for the results.
    #[track_caller]
    pub fn sample(
        &mut self,
        stream: &Stream,
        pictures: &[FrameView<'_>],
    ) -> Result<Vec<FrameStatistics>, StatisticsError> {
        // SAFETY: the download below waits for the kernel. If a caller has submitted work on the sampler in another
        // stream, that caller ensures that it is done.
        unsafe { self.submit(stream, pictures)? };
        let mut statistics = self.statistics.download(stream)?;
        statistics.truncate(pictures.len());
        Ok(statistics)
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
    ) -> Result<(), StatisticsError> {
        let invalid = |text: String| Err(StatisticsError::Invalid(text));
        let count = pictures.len();
        let table = DeviceTable::new(&pictures.iter().map(bytes).collect::<Vec<_>>());
        let (Some(first), Some(table)) = (pictures.first(), table) else {
            return invalid(format!("{count} pictures were passed; pass 1 to {MAX_CAMERAS}"));
        };
        let bits = |picture: &FrameView<'_>| picture.format().pixels.bits();
        let deep = bits(first) > 8;
        for (i, picture) in pictures.iter().enumerate() {
            let text = if picture.format().size.min_element() == 0 {
                "has no pixels; leave it out"
            } else if bits(picture) != bits(first) {
                "differs from the first one in depth; sample P010 pictures apart from others"
            } else {
                continue;
            };
            return invalid(format!("picture {} {text}", i + 1));
        }
        let is_rgba = |picture: &FrameView<'_>| matches!(picture, FrameView::Rgba8(_));
        let rgba = pictures.iter().rev().fold(0, |bits, p| bits << 1 | u32::from(is_rgba(p)));
        let config = LaunchConfig {
            grid: [count as u32, 1, 1],
            block: [BLOCK_THREADS, 1, 1],
            dynamic_shared: 0,
        };
        let (pictures, out) = (table, self.statistics.view_mut());
        // SAFETY: the grid has one block of `BLOCK_THREADS` threads for each picture, of which there are at most
        // `MAX_CAMERAS`, and `self.statistics` has that many elements. No picture is empty. Either all pictures are P010,
        // or none of them and `rgba` matches the formats, so the kernel reads only the bytes of the pictures.
        let launched = unsafe {
            if deep {
                stream.launch_unchecked(&config, &SamplePicturesP010 { pictures, out })
            } else {
                stream.launch_unchecked(&config, &SamplePictures { pictures, rgba, out })
            }
        };
        Ok(launched?)
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
