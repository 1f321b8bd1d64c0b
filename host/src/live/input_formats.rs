//! The pixel formats of the cameras' frames: one format for all cameras, or one per camera.
//!
//! [`LiveOptions`](super::LiveOptions) is `Copy`, so the list has a fixed length. The sizes of the frames are not part
//! of it, because the warp has them.

use shared_types::stitch::MAX_CAMERAS;

use super::error::LiveError;
use crate::frame::PixelFormat;

/// The pixel formats of the cameras' frames.
///
/// A [`PixelFormat`] converts to the format of all cameras. [`each`](Self::each) takes one format per camera:
///
/// ```
/// use panoweave::frame::{PixelFormat, YuvEncoding};
/// use panoweave::live::{InputFormats, LiveOptions};
///
/// let nv12 = PixelFormat::Nv12(YuvEncoding::default());
/// let all_nv12 = LiveOptions { input: nv12.into(), ..LiveOptions::default() };
/// let mixed = InputFormats::each([nv12, PixelFormat::Rgba8]);
/// assert_ne!(all_nv12.input, mixed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputFormats {
    /// The format of each camera. Elements from `count` on are not used.
    formats: [PixelFormat; MAX_CAMERAS],
    /// The number of formats, or `None` if all elements have the format of all cameras.
    count: Option<usize>,
}

impl From<PixelFormat> for InputFormats {
    fn from(format: PixelFormat) -> Self {
        Self { formats: [format; MAX_CAMERAS], count: None }
    }
}

impl Default for InputFormats {
    /// Returns RGBA for all cameras.
    fn default() -> Self {
        PixelFormat::Rgba8.into()
    }
}

impl InputFormats {
    /// Returns one format per camera, in the order of the cameras. [`Session::new`](super::Session::new) rejects a
    /// list whose length is not the number of cameras.
    #[must_use]
    pub fn each(formats: impl IntoIterator<Item = PixelFormat>) -> Self {
        let (mut all, mut count) = ([PixelFormat::Rgba8; MAX_CAMERAS], 0);
        for format in formats {
            if let Some(element) = all.get_mut(count) {
                *element = format;
            }
            count += 1;
        }
        Self { formats: all, count: Some(count) }
    }

    /// Returns the format of each of `cameras` cameras.
    pub fn of(&self, cameras: usize) -> Result<&[PixelFormat], LiveError> {
        let found = self.count.unwrap_or(cameras);
        let formats = self.formats.get(..cameras).filter(|_| found == cameras);
        let text = || {
            format!(
                "{found} input formats were passed, but the warp has {cameras} cameras; pass one format per camera, or one `PixelFormat` for all"
            )
        };
        formats.ok_or_else(|| LiveError::Invalid(text()))
    }
}
