//! Finished outputs, in device memory and, unless this is switched off, in host memory.

use std::ops::Deref;
use std::time::Duration;

use super::buffers::OutputBuffer;
use crate::device::Pinned;
use crate::frame::{DeviceFrame, Frame, FrameFormat, PixelFormat};
use crate::io::picture::Picture;
use crate::ops::colour::Colours;
use crate::pool::Pooled;

/// A finished panorama or view.
#[derive(Debug)]
pub struct OutputFrame {
    pub(super) device: DeviceFrame,
    /// The host memory, if the output is downloaded.
    pub(super) host: Option<Pinned<u8>>,
}

impl OutputFrame {
    /// Returns the size and the pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.device.format()
    }

    /// Returns the bytes of all planes, one plane after the other without padding. Empty if
    /// [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.host.as_deref().unwrap_or_default()
    }

    /// Returns a [`Frame`] that borrows the bytes. Returns `None` if
    /// [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn frame(&self) -> Option<Frame<'_>> {
        Some(Frame::of_tight(self.format(), self.host.as_deref()?))
    }

    /// Returns the frame in device memory. The device has finished it.
    #[must_use]
    pub fn device_frame(&self) -> &DeviceFrame {
        &self.device
    }

    /// Returns a copy of an RGBA frame as a picture, for instance to save it. Returns `None` for other formats, and if
    /// [`LiveOptions::download`](field@super::LiveOptions::download) is off.
    #[must_use]
    pub fn to_picture(&self) -> Option<Picture> {
        let FrameFormat { size, pixels } = self.format();
        let bytes = self.host.as_deref().filter(|_| pixels == PixelFormat::Rgba8)?;
        Picture::from_pixels(size.x, size.y, bytemuck::cast_slice(bytes).to_vec())
    }
}

/// The finished outputs of a set. Dropping it returns its buffers to the session. It is read like its first output,
/// which is the only one of most sessions.
#[derive(Debug)]
pub struct StitchedFrame {
    pub(super) buffer: Pooled<OutputBuffer>,
    pub(super) timestamp: Duration,
    pub(super) latency: Duration,
    pub(super) colours: Colours,
}

impl Deref for StitchedFrame {
    type Target = OutputFrame;

    fn deref(&self) -> &OutputFrame {
        &self.buffer.frames[0]
    }
}

impl StitchedFrame {
    /// Returns all outputs, in the order in which the session was created with them.
    #[must_use]
    pub fn outputs(&self) -> &[OutputFrame] {
        &self.buffer.frames
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
