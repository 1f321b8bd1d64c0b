//! A finished panorama in host memory.

use std::time::Duration;

use super::buffers::OutputBuffer;
use super::pool::Pooled;
use crate::frame::{Frame, FrameFormat, PixelFormat};
use crate::io::picture::Picture;
use crate::ops::colour::Colours;

/// A finished panorama in host memory. Dropping it returns its buffer to the stitcher.
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

    /// Returns the bytes of all planes, one plane after the other without padding.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.host
    }

    /// Returns the panorama as a [`Frame`], which borrows its bytes.
    #[must_use]
    pub fn frame(&self) -> Frame<'_> {
        Frame::of_tight(self.format, self.bytes())
    }

    /// Returns a copy of an RGBA panorama as a picture, for instance to save it. Returns `None` for NV12 and P010.
    #[must_use]
    pub fn to_picture(&self) -> Option<Picture> {
        let FrameFormat { size, pixels } = self.format;
        let pixels = match pixels {
            PixelFormat::Rgba8 => bytemuck::cast_slice(self.bytes()).to_vec(),
            PixelFormat::Nv12(_) | PixelFormat::P010(_) => return None,
        };
        Picture::from_pixels(size.x, size.y, pixels)
    }

    /// Returns the latest timestamp of the panorama's frames.
    #[must_use]
    pub fn timestamp(&self) -> Duration {
        self.timestamp
    }

    /// Returns the time from the arrival of the last of the frames until the panorama was in host memory.
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
