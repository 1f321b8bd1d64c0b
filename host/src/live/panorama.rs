//! A finished panorama, in device memory and, unless this is switched off, in host memory.

use std::time::Duration;

use super::buffers::OutputBuffer;
use super::pool::Pooled;
use crate::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat};
use crate::io::picture::Picture;
use crate::ops::colour::Colours;

/// A finished panorama. Dropping it returns its buffers to the stitcher.
#[derive(Debug)]
pub struct StitchedFrame {
    pub(super) buffer: Pooled<OutputBuffer>,
    pub(super) format: FrameFormat,
    pub(super) timestamp: Duration,
    pub(super) latency: Duration,
    pub(super) colours: Colours,
}

impl StitchedFrame {
    /// Returns the panorama's size and pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns the bytes of all planes, one plane after the other without padding. Empty if
    /// [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.host.as_deref().unwrap_or_default()
    }

    /// Returns the panorama as a [`Frame`], which borrows its bytes. Returns `None` if
    /// [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn frame(&self) -> Option<Frame<'_>> {
        let bytes = self.buffer.host.as_deref()?;
        Some(Frame::of_tight(self.format, bytes))
    }

    /// Returns the panorama in device memory. The device has finished it.
    #[must_use]
    pub fn device_frame(&self) -> &DeviceFrame {
        &self.buffer.device
    }

    /// Returns a copy of an RGBA panorama as a picture, for instance to save it. Returns `None` for other formats, and
    /// if [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn to_picture(&self) -> Option<Picture> {
        let FrameFormat { size, pixels } = self.format;
        let bytes = self.buffer.host.as_deref()?;
        let is_picture = pixels == PixelFormat::Rgba8;
        is_picture
            .then(|| Picture::from_pixels(size.x, size.y, bytemuck::cast_slice(bytes).to_vec()))?
    }

    /// Returns the latest timestamp of the panorama's frames, without those of cameras whose rate differs from that of
    /// the reference camera.
    #[must_use]
    pub fn timestamp(&self) -> Duration {
        self.timestamp
    }

    /// Returns the time from the arrival of the last of the frames until the panorama was finished.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// Returns the colours that were applied to the cameras' frames.
    #[must_use]
    pub fn colours(&self) -> Colours {
        self.colours
    }
}
