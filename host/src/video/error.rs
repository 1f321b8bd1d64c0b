//! The error type of stitching video files.

use std::path::PathBuf;

use crate::error::{Classify, Kind};
use crate::io::video::VideoError;
use crate::live::LiveError;

/// The error for two videos that could not be stitched.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum VideoStitchError {
    /// A video cannot be read or written.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// The live stitcher failed.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// An input or the stitcher failed after the first panoramas, which were written to the output.
    #[error("{}; {} was written, but ends after panorama {written}", source.message(), output.display())]
    Incomplete { output: PathBuf, written: u64, source: Box<Self> },
}

impl Classify for VideoStitchError {
    fn inner(&self) -> Option<&dyn Classify> {
        match self {
            Self::Video(error) => Some(error),
            Self::Live(error) => Some(error),
            Self::Incomplete { .. } => None,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Video(error) => error.kind(),
            Self::Live(error) => error.kind(),
            Self::Incomplete { source, .. } => source.kind(),
        }
    }
}
