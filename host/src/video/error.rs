//! The error type of stitching video files.

use crate::io::video::VideoError;
use crate::live::LiveError;

/// The error for two videos that could not be stitched.
#[derive(Debug, thiserror::Error)]
pub enum VideoStitchError {
    /// A video cannot be read or written.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// The live stitcher failed.
    #[error(transparent)]
    Live(#[from] LiveError),
}
