//! Finished panoramas, and the three ways to get them: a blocking iterator, a stream for any `async`
//! runtime, a callback.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use async_channel::Receiver;
use futures_core::Stream;

use super::Shared;
use super::buffers::OutputBuffer;
use super::pool::Pooled;
use crate::frame::{Frame, FrameFormat, PixelFormat};
use crate::io::picture::Picture;
use crate::ops::colour::Colours;

/// A finished panorama in host memory. Dropping it makes room for another.
#[derive(Debug)]
pub struct StitchedFrame {
    pub(super) buffer: Pooled<OutputBuffer>,
    pub(super) format: FrameFormat,
    pub(super) timestamp: Duration,
    pub(super) latency: Duration,
    pub(super) colours: Colours,
}

impl StitchedFrame {
    /// Size and format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// All planes, one after the other without padding.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.host
    }

    /// The picture.
    #[must_use]
    pub fn frame(&self) -> Frame<'_> {
        Frame::of_tight(self.format, self.bytes())
    }

    /// A copy of the picture, to save or encode; `None` unless it is RGBA.
    #[must_use]
    pub fn to_picture(&self) -> Option<Picture> {
        let FrameFormat { size, pixels } = self.format;
        let pixels = match pixels {
            PixelFormat::Rgba8 => bytemuck::cast_slice(self.bytes()).to_vec(),
            PixelFormat::Nv12(_) => return None,
        };
        Picture::from_pixels(size.x, size.y, pixels)
    }

    /// That of its pair of frames: the later of the two.
    #[must_use]
    pub fn timestamp(&self) -> Duration {
        self.timestamp
    }

    /// From when its pair was complete until it was finished.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// How the cameras' colours were corrected.
    #[must_use]
    pub fn colours(&self) -> Colours {
        self.colours
    }
}

/// The panoramas of a stitcher in order, as they are finished: a blocking [`Iterator`] and an `async`
/// [`Stream`]. Ends when the stitcher was closed, or has failed: [`Stitcher::health`] tells which.
///
/// Each panorama goes to one reader only.
///
/// [`Stitcher::health`]: super::Stitcher::health
#[derive(Debug)]
pub struct StitchedFrames {
    receiver: Pin<Box<Receiver<StitchedFrame>>>,
    shared: Arc<Shared>,
}

impl StitchedFrames {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.readers.fetch_add(1, AcqRel);
        Self { receiver: Box::pin(shared.finished.clone()), shared }
    }

    /// Calls `reader` with each panorama, on a thread of its own that ends after the last.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn for_each_on_thread(
        self,
        mut reader: impl FnMut(StitchedFrame) + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let name = "panoweave-reader".to_owned();
        thread::Builder::new().name(name).spawn(move || self.for_each(&mut reader))
    }
}

impl Iterator for StitchedFrames {
    type Item = StitchedFrame;

    fn next(&mut self) -> Option<StitchedFrame> {
        self.receiver.recv_blocking().ok()
    }
}

impl Stream for StitchedFrames {
    type Item = StitchedFrame;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<StitchedFrame>> {
        self.receiver.as_mut().poll_next(context)
    }
}

impl Drop for StitchedFrames {
    fn drop(&mut self) {
        self.shared.readers.fetch_sub(1, AcqRel);
        self.shared.outputs.nudge();
    }
}
