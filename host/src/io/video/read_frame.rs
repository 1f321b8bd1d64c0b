//! The interface of all frame readers.

use super::VideoError;
use crate::io::picture::MAX_SIDE;
use glam::UVec2;
use std::path::Path;
use std::time::Duration;

/// Interval between polls for a stop request.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A reader of consecutive frames.
pub(super) trait ReadFrame: Send {
    /// Fills `frame`, whose length is exactly one frame; returns false at the end.
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError>;
}

/// Checks a size before any allocation, because a file can claim any size.
pub(super) fn check(file: &Path, size: UVec2) -> Result<(), VideoError> {
    if size.min_element() > 0 && size.max_element() <= MAX_SIDE {
        return Ok(());
    }
    Err(VideoError::SourceSize { file: file.to_owned(), size })
}
