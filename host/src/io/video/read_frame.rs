//! The interfaces of all frame readers, and the checks that they share.

use super::{VideoError, VideoFrame};
use crate::io::picture::MAX_SIDE;
use glam::UVec2;
use std::path::Path;
use std::time::Duration;

/// The interval at which a waiting thread checks for a stop request.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A reader of consecutive frames, which allocates them.
pub(super) trait NextFrame: Send {
    /// Returns the next frame, or `None` at the end of the video.
    fn next_frame(&mut self) -> Result<Option<VideoFrame>, VideoError>;
}

/// A reader of consecutive frames to buffers in host memory.
pub(super) trait ReadFrame: Send {
    /// Reads the next frame into `frame`, whose length must be the size of one frame in bytes. Returns false at the end
    /// of the video.
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError>;
}

/// Checks that each side of an input's frames is 1 to [`MAX_SIDE`] pixels. Call this before allocating frames, because
/// a file can claim any size.
pub(super) fn check(file: &Path, size: UVec2) -> Result<(), VideoError> {
    if size.min_element() > 0 && size.max_element() <= MAX_SIDE {
        return Ok(());
    }
    let UVec2 { x, y } = size;
    let reason = format!("the frames are {x}×{y} pixels; each side must be 1 to {MAX_SIDE} pixels");
    Err(VideoError::input(file, reason))
}
