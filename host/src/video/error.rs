//! The error type of stitching video files.

use std::path::PathBuf;

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
    /// An input failed after the first panoramas, which were written to the output.
    #[error("{source}; {} was written, but ends after panorama {written}", output.display())]
    Incomplete {
        /// The path of the output.
        output: PathBuf,
        /// The number of panoramas in the output.
        written: u64,
        /// The error of the input.
        source: Box<Self>,
    },
}
