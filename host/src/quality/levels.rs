//! Gives access to the levels of a picture, or of a frame in RGBA, NV12 or P010.

use std::ops::Range;

use glam::UVec2;

use crate::frame::{Frame, FrameFormat, PlaneBytes};
use crate::io::picture::Picture;

/// The levels (0 to 255) that the quality measurements read: red, green and blue of RGBA, the stored luma of NV12, or
/// the upper 8 bits of the luma of P010.
#[derive(Clone, Debug)]
pub struct Levels<'a> {
    size: UVec2,
    plane: PlaneBytes<'a>,
    /// The number of bytes per pixel, and the bytes of a pixel that are its levels.
    pixel: (usize, Range<usize>),
}

impl<'a> Levels<'a> {
    /// Returns the levels of a picture.
    #[must_use]
    pub fn of_picture(picture: &'a Picture) -> Self {
        let bytes = bytemuck::cast_slice(picture.pixels());
        let plane = PlaneBytes { bytes, pitch: 4 * picture.width() as usize };
        Self { size: picture.size(), plane, pixel: (4, 0..3) }
    }

    /// Returns the levels of a frame.
    #[must_use]
    pub fn of_frame(frame: &Frame<'a>) -> Self {
        let FrameFormat { size, pixels } = frame.format();
        // The first plane contains the RGBA pixels or the luma.
        Self { size, plane: frame.planes()[0], pixel: pixels.levels() }
    }

    /// Returns the size in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the levels of a pixel: three for RGBA, otherwise one.
    pub(super) fn at(&self, x: u32, y: u32) -> &'a [u8] {
        let (bytes, levels) = self.pixel.clone();
        &self.plane.bytes[y as usize * self.plane.pitch + x as usize * bytes..][levels]
    }

    /// Yields the gray levels of a row. For RGBA they are computed by Rec. 601 in integers, as in
    /// [`ssim`](crate::ops::ssim).
    pub(crate) fn gray_row(&self, y: u32) -> impl Iterator<Item = u32> + 'a {
        let (bytes, levels) = self.pixel.clone();
        let row =
            &self.plane.bytes[y as usize * self.plane.pitch..][..bytes * self.size.x as usize];
        row.chunks_exact(bytes).map(move |pixel| match pixel[levels.clone()] {
            [r, g, b] => {
                let [r, g, b] = [r, g, b].map(u32::from);
                (19_595 * r + 38_470 * g + 7_471 * b + 0x8000) >> 16
            }
            [level] => level.into(),
            _ => 0,
        })
    }
}
