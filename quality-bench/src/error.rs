//! The errors of the bench. A stitcher that fails is a result, not an error.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The result of an operation of the bench.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why the bench cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("quality-bench: cannot access {}: {source}", file.display())]
    File {
        /// The file or folder.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A picture cannot be decoded or encoded.
    #[error("quality-bench: {} is not a picture that can be used: {source}", file.display())]
    Picture {
        /// The file.
        file: PathBuf,
        /// The codec's reason.
        source: image::ImageError,
    },
    /// Options that fit nothing.
    #[error("quality-bench: {0}")]
    Options(String),
}

impl Error {
    /// Returns the error of a file that cannot be read or written.
    #[must_use]
    pub fn file(file: &Path, source: io::Error) -> Self {
        Self::File { file: file.to_path_buf(), source }
    }

    /// Returns the error of a picture that cannot be decoded or encoded.
    #[must_use]
    pub fn picture(file: &Path, source: image::ImageError) -> Self {
        Self::Picture { file: file.to_path_buf(), source }
    }
}
