//! Reads text files with a limit on their size, and replaces text files atomically.
//!
//! The size is checked before reading, so that a wrong path, such as that of a video, fails at once. The default limit
//! of 1 MiB is ample for rigs, calibrations and homographies, which have a few kilobytes; trajectories use a higher
//! limit. Folders, pipes and devices are rejected, because reading them could block forever. To read a stream, such as
//! standard input, use [`read_text_from`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::Classify;
use crate::io::replace;

/// The default maximum size of a text file, in bytes.
pub const TEXT_LIMIT: u64 = 1 << 20;

/// The error for a text that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum TextError {
    /// The file is missing, unreadable, or not a regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The text is longer than the limit.
    #[error("{}: the text has {bytes} bytes, but at most {limit} are allowed; check that it is the right file", file.display())]
    TooLong { file: PathBuf, bytes: u64, limit: u64 },
    /// The text is not valid UTF-8.
    #[error("{}: not UTF-8 text: the byte at offset {offset} is invalid; check that it is the right file", file.display())]
    NotText { file: PathBuf, offset: usize },
}

impl Classify for TextError {}

/// Returns the line and the column of an error in a TOML text, both from 1, and the reason in one line.
pub(crate) fn toml_place(text: &str, error: &toml::de::Error) -> (usize, usize, String) {
    let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column, error.message().replace('\n', "; "))
}

/// Replaces a text file atomically.
///
/// # Errors
/// Returns the error of the operating system; the file is then unchanged.
pub fn replace_text(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    replace(path.as_ref(), |writer| writer.write_all(text.as_bytes()))
}

/// Opens a regular file for reading. Returns the file and its length in bytes.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    // Check before opening, because opening a pipe blocks until another program opens it for writing.
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
    // `read_text_from` checks the limit again, because the file may have grown since its length was read.
    read_text_from(file, path, limit)
}

/// Reads UTF-8 text of at most `limit` bytes from `source`, for instance standard input, until its end. Error messages
/// call the source `name`.
///
/// # Errors
/// Returns [`TextError`] if reading fails, the limit is exceeded, or the text is not UTF-8.
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
