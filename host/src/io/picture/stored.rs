//! Pictures with the bits per channel of their files. `decode` reads them.

use std::path::Path;

use glam::UVec2;
use shared_types::Rgba16;

use super::{Picture, PictureError};

/// A picture with the bits per channel of its file. A picture with 16 bits keeps all its levels.
///
/// ```no_run
/// use panoweave::io::picture::{Picture, Rgba16, StoredPicture};
///
/// let pictures = ["left.png", "right.png"].map(StoredPicture::open);
/// let [left, right] = pictures.map(|picture| picture.map(StoredPicture::into_rgba16));
/// let pictures: [Picture<Rgba16>; 2] = [left?, right?];
/// # Ok::<(), panoweave::io::picture::PictureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredPicture {
    /// A picture with at most 8 bits per channel.
    Rgba8(Picture),
    /// A picture with 16 bits per channel.
    Rgba16(Picture<Rgba16>),
}

impl From<Picture> for StoredPicture {
    fn from(picture: Picture) -> Self {
        Self::Rgba8(picture)
    }
}

impl From<Picture<Rgba16>> for StoredPicture {
    fn from(picture: Picture<Rgba16>) -> Self {
        Self::Rgba16(picture)
    }
}

impl StoredPicture {
    /// Writes the picture; see [`Picture::save`].
    ///
    /// # Errors
    /// Returns [`PictureError`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        match self {
            Self::Rgba8(picture) => picture.save(path),
            Self::Rgba16(picture) => picture.save(path),
        }
    }

    /// Returns the number of bits per channel: 8 or 16.
    #[must_use]
    pub fn bits(&self) -> u8 {
        match self {
            Self::Rgba8(_) => 8,
            Self::Rgba16(_) => 16,
        }
    }

    /// Returns width and height in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        match self {
            Self::Rgba8(picture) => picture.size(),
            Self::Rgba16(picture) => picture.size(),
        }
    }

    /// Returns the picture with 8 bits per channel. Rounds 16-bit values to the nearest 8-bit value, which
    /// [`conversions`](Picture::conversions) reports.
    #[must_use]
    pub fn into_rgba8(self) -> Picture {
        match self {
            Self::Rgba8(picture) => picture,
            Self::Rgba16(picture) => picture.to_depth(),
        }
    }

    /// Returns the picture with 16 bits per channel. Widens 8-bit values without loss: multiplies them by 257.
    #[must_use]
    pub fn into_rgba16(self) -> Picture<Rgba16> {
        match self {
            Self::Rgba8(picture) => picture.to_depth(),
            Self::Rgba16(picture) => picture,
        }
    }
}
