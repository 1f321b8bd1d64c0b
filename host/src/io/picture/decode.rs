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
    match format(start) {
        Some("PNG") => decode_png(path, reader, bytes, depth == Depth::Stored),
        Some("JPEG") => decode_jpeg(path, reader, bytes).map(StoredPicture::Rgba8),
        Some(found) => {
            Err(PictureError::WrongFormat { file: path.to_owned(), found: found.to_owned() })
        }
        None => Err(PictureError::NotAPicture { file: path.to_owned() }),
    }
}

/// Returns the name of the format of a picture file that begins with `start`.
fn format(start: &[u8]) -> Option<&'static str> {
    let signatures: [(usize, &[u8], &str); 16] = [
        (0, b"\x89PNG\r\n\x1a\n", "PNG"),
        (0, b"\xff\xd8\xff", "JPEG"),
        (0, b"GIF8", "GIF"),
        (0, b"BM", "BMP"),
        (0, b"II*\0", "TIFF"),
        (0, b"MM\0*", "TIFF"),
        (0, b"8BPS", "PSD"),
        (0, b"v/1\x01", "OPENEXR"),
        (0, b"\xff\x0a", "JPEG XL"),
        (4, b"JXL ", "JPEG XL"),
        (4, b"ftypavif", "AVIF"),
        (4, b"ftyphei", "HEIC"),
        (4, b"ftyphev", "HEIC"),
        (4, b"ftypmif1", "HEIC"),
        (4, b"ftypmsf1", "HEIC"),
        (8, b"WEBP", "WEBP"),
    ];
    let is_at = |&(at, bytes, _): &(usize, &[u8], _)| {
        start.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    };
    signatures.into_iter().find(is_at).map(|(_, _, name)| name)
}

/// Returns what to do with a picture of an unsupported format.
pub(super) fn remedy(format: &str) -> &'static str {
    match format {
        "HEIC" => {
            "convert the picture to JPEG, for instance with heif-convert, or set the camera format of the phone to \"Most Compatible\" and take it again"
        }
        _ => "convert the picture to PNG or JPEG",
    }
}
