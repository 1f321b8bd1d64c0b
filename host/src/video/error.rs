//! The error type of stitching video files.

use crate::io::video::VideoError;
use crate::live::LiveError;

/// Stitching two videos failed.
#[derive(Debug, thiserror::Error)]
pub enum VideoStitchError {
    /// A video cannot be read or written.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// The live stitcher failed.
    #[error(transparent)]
    Live(#[from] LiveError),
}
