//! Opening regular files, reading small text files whole, and replacing text files.
//!
//! Rigs, calibrations and homographies are a few kilobytes; trajectories, of which each format says so, more. The size is
//! checked before anything is read, so that a wrong path (a video, a device, a pipe) costs nothing. Directories, pipes
//! and devices are refused: reading them could block for ever. What is open already is read by [`read_text_from`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::io::replace;

/// The largest text file that is read, in bytes, where a format says nothing else.
pub const TEXT_LIMIT: u64 = 1 << 20;

/// Why a text file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The file is not there, may not be read, or is no regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is larger than any such file can sensibly be.
    #[error("{}: {bytes} bytes long, at most {limit} are read; is it the right file?", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        bytes: u64,
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// The file is not UTF-8.
    #[error("{}: not UTF-8 text: byte {offset} is invalid", file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// Offset of the first invalid byte.
        offset: usize,
    },
}

/// Replaces a text file at once or not at all: readers see the old text or the new one.
///
/// # Errors
/// What the operating system says; the file is as it was then.
pub fn replace_text(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    replace(path.as_ref(), |writer| writer.write_all(text.as_bytes()))
}

/// Opens a regular file and returns it with its length in bytes.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    // Asked before opening: opening a pipe blocks until somebody writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// Reads a UTF-8 file of at most [`TEXT_LIMIT`] bytes.
pub(crate) fn read_text(path: &Path) -> Result<String, TextError> {
    read_text_up_to(path, TEXT_LIMIT)
}

/// Reads a UTF-8 file of at most `limit` bytes.
pub(crate) fn read_text_up_to(path: &Path, limit: u64) -> Result<String, TextError> {
    let unreadable = |source| TextError::Unreadable { file: path.to_owned(), source };
    let (file, bytes) = open_regular(path).map_err(unreadable)?;
    if bytes > limit {
        return Err(TextError::TooLong { file: path.to_owned(), bytes, limit });
    }
    // It may have grown since its length was asked.
    read_text_from(file, path, limit)
}

/// Reads UTF-8 of at most `limit` bytes to its end, such as that of standard input; `name` is named in errors.
///
/// # Errors
/// [`TextError`].
pub fn read_text_from(
    source: impl Read,
    name: impl AsRef<Path>,
    limit: u64,
) -> Result<String, TextError> {
    let file = || name.as_ref().to_owned();
    let mut content = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|source| TextError::Unreadable { file: file(), source })?;
    let bytes = content.len() as u64;
    if bytes > limit {
        return Err(TextError::TooLong { file: file(), bytes, limit });
    }
    String::from_utf8(content).map_err(|error| TextError::NotText {
        file: file(),
        offset: error.utf8_error().valid_up_to(),
    })
}
