//! Recognises PNG and JPEG by their first bytes, and decodes them within fixed limits.
//!
//! A file of a few bytes can claim any size, so the size is checked before memory is allocated:
//! - Each side must be at most [`MAX_SIDE`](super::MAX_SIDE).
//! - The decoder's buffer and the resulting picture must together fit into [`memory`](super::decoded::memory). For a
//!   JPEG, the limit also includes the file, which is read into memory.
//!
//! Pictures of 7680×4320 pixels (8K) are within these limits.

use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use image::ImageFormat;

use crate::io::picture::jpeg::decode_jpeg;
use crate::io::picture::png::decode_png;
use crate::io::picture::{PictureError, StoredPicture};
use crate::io::text::open_regular;

/// The bits per channel of a decoded picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// 8 bits.
    Eight,
    /// 16 bits if the file has more than 8, and otherwise 8.
    Stored,
}

impl StoredPicture {
    /// Reads a PNG or JPEG file with any extension, and applies the EXIF orientation.
    ///
    /// # Errors
    /// Returns [`PictureError`] if the file cannot be read, is not a valid PNG or JPEG, or is too large.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        open(path.as_ref(), Depth::Stored)
    }

    /// Decodes the content of a PNG or JPEG file as [`open`](Self::open) does. Error messages call the file `name`.
    ///
    /// # Errors
    /// Returns [`PictureError`] if the content is not a valid PNG or JPEG, or is too large.
    pub fn decode(content: &[u8], name: impl AsRef<Path>) -> Result<Self, PictureError> {
        decode(content, name.as_ref(), Depth::Stored)
    }
}

/// Reads a picture file.
pub(crate) fn open(path: &Path, depth: Depth) -> Result<StoredPicture, PictureError> {
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    let (file, bytes) = open_regular(path).map_err(unreadable)?;
    read(path, BufReader::new(file), bytes, depth)
}

/// Decodes the content of a picture file.
pub(crate) fn decode(
    content: &[u8],
    name: &Path,
    depth: Depth,
) -> Result<StoredPicture, PictureError> {
    read(name, Cursor::new(content), content.len() as u64, depth)
}

fn read(
    path: &Path,
    mut reader: impl BufRead + Seek,
    bytes: u64,
    depth: Depth,
) -> Result<StoredPicture, PictureError> {
    let unreadable = |source| PictureError::Unreadable { file: path.to_owned(), source };
    let start = reader.fill_buf().map_err(unreadable)?;
    match image::guess_format(start) {
        Ok(ImageFormat::Png) => decode_png(path, reader, bytes, depth == Depth::Stored),
        Ok(ImageFormat::Jpeg) => decode_jpeg(path, reader, bytes).map(StoredPicture::Rgba8),
        Ok(other) => Err(PictureError::WrongFormat {
            file: path.to_owned(),
            found: format!("{other:?}").to_uppercase(),
        }),
        Err(_) => Err(PictureError::NotAPicture { file: path.to_owned() }),
    }
}
