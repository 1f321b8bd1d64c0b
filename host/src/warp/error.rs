//! The errors of reading, writing and rendering warps.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::device::DeviceError;
use crate::error::{Classify, Kind, passes_on};

/// A warp could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages explain the fields")]
pub enum WarpError {
    /// The contents of a file or folder are not a valid warp.
    #[error("{}: {reason}", file.display())]
    Invalid { file: PathBuf, reason: String },
    /// The file is missing, unreadable, or not a regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}

impl Classify for WarpError {
    fn kind(&self) -> Kind {
        if matches!(self, Self::Unwritable { .. }) { Kind::Output } else { Kind::Input }
    }
}

impl WarpError {
    pub(super) fn invalid(file: &Path, reason: impl fmt::Display) -> Self {
        Self::Invalid { file: file.to_owned(), reason: reason.to_string() }
    }
}

/// The reason why a file is not a valid warp. The caller adds the path.
pub(super) enum Fault {
    Invalid(String),
    Io(io::Error),
}

impl Fault {
    pub(super) fn in_file(self, file: &Path) -> WarpError {
        let file = file.to_owned();
        match self {
            Self::Invalid(reason) => WarpError::Invalid { file, reason },
            Self::Io(source) => WarpError::Unreadable { file, source },
        }
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

impl From<PlaneError> for Fault {
    fn from(error: PlaneError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A size, a number of cameras or a number in a warp is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlaneError(pub(super) String);

/// A geometry could not be rendered to a warp.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The number of cameras, a size of the geometry, or a number that the device computed, is invalid for a warp.
    #[error("cannot render a warp: {0}")]
    Plane(#[from] PlaneError),
    /// The device failed, for instance because its memory is full.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

passes_on!(RenderError: Device);
