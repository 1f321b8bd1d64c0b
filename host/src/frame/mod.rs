//! Frames of cameras and panoramas, in host memory and in device memory.
//!
//! A [`FrameFormat`] is a size in pixels and a [`PixelFormat`]. This module does not read or write files; picture files
//! are in [`picture`](crate::io::picture).

mod device;
mod launch;
mod rate;
mod tags;
mod textured;

use std::fmt;

use glam::UVec2;
use shared_types::nv12::chroma_side;
use thiserror::Error;

pub use cuda_std::{DeviceView, DeviceViewMut};
pub use device::{DeviceFrame, DevicePlane, FormatMismatch, FrameRef, FrameView, FrameViewMut};
pub(crate) use launch::launch_by_formats;
pub use rate::{MAX_INTERVAL, MAX_RATE, Rate, RateError};
pub use shared_types::Rgba8;
pub use shared_types::nv12::{DeviceNv12, DeviceNv12Mut, DeviceP010, DeviceP010Mut};
pub use shared_types::yuv::{Range, YuvEncoding, YuvMatrix};
use shared_types::yuv::{RgbToYuv, YuvToRgb};
pub use tags::{ColourTags, Primaries, Transfer};
pub(crate) use textured::{Textured, TexturedFrames};

/// The maximum width and height in pixels of a frame, and of the canvas of a panorama.
pub const MAX_CANVAS_SIDE: u32 = 32_768;

/// The pixel format of a frame: its planes, and the bytes of each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// One plane with four bytes per pixel: red, green, blue, opacity.
    Rgba8,
    /// A plane with one luma byte per pixel, and a plane of chroma byte pairs (Cb, Cr) with half the width and height,
    /// rounded up.
    Nv12(YuvEncoding),
    /// The planes of NV12 with 16 bits per sample in little-endian byte order. The upper 10 bits contain the sample,
    /// and the other bits are 0.
    P010(YuvEncoding),
}

impl PixelFormat {
    /// Returns the name of the format in the names of kernels.
    pub(crate) const fn kernel_name(self) -> &'static str {
        match self {
            Self::Rgba8 => "rgba8",
            Self::Nv12(_) => "nv12",
            Self::P010(_) => "p010",
        }
    }

    /// Returns the number of bits per sample: 8 or 10.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Rgba8 | Self::Nv12(_) => 8,
            Self::P010(_) => 10,
        }
    }

    /// Returns the colour encoding of NV12 and P010, or `None` for RGBA.
    #[must_use]
    pub const fn encoding(self) -> Option<YuvEncoding> {
        match self {
            Self::Rgba8 => None,
            Self::Nv12(encoding) | Self::P010(encoding) => Some(encoding),
        }
    }

    /// Returns the conversion of the stored samples to R'G'B' levels. Kernels ignore it for RGBA.
    pub(crate) fn to_rgb(self) -> YuvToRgb {
        let encoding = self.encoding().unwrap_or_default();
        if let Self::P010(_) = self { encoding.to_rgb_10() } else { encoding.to_rgb() }
    }

    /// Returns the conversion of R'G'B' levels to stored samples. Kernels ignore it for RGBA.
    pub(crate) fn to_yuv(self) -> RgbToYuv {
        let encoding = self.encoding().unwrap_or_default();
        if let Self::P010(_) = self { encoding.from_rgb_10() } else { encoding.from_rgb() }
    }

    /// Returns the side of the square of pixels that share a chroma sample: 1 for RGBA, 2 for NV12 and P010.
    pub(crate) const fn cell(self) -> u32 {
        match self {
            Self::Rgba8 => 1,
            Self::Nv12(_) | Self::P010(_) => 2,
        }
    }

    /// Returns the mean number of bytes per pixel.
    pub const fn bytes_per_pixel(self) -> f64 {
        match self {
            Self::Rgba8 => 4.0,
            Self::Nv12(_) => 1.5,
            Self::P010(_) => 3.0,
        }
    }
}

/// The size and the pixel format of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameFormat {
    /// Width and height in pixels.
    pub size: UVec2,
    /// The pixel format.
    pub pixels: PixelFormat,
}

/// The size of a plane: its rows, and the bytes of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneExtent {
    /// The number of bytes per row, without padding.
    pub row: usize,
    /// The number of rows.
    pub rows: usize,
}

impl PlaneExtent {
    /// Returns the number of bytes of the plane without padding, at most [`usize::MAX`].
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.row.saturating_mul(self.rows)
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rgba8 => f.write_str("RGBA"),
            Self::Nv12(YuvEncoding { matrix, range }) => write!(f, "NV12 ({matrix:?}, {range:?})"),
            Self::P010(YuvEncoding { matrix, range }) => write!(f, "P010 ({matrix:?}, {range:?})"),
        }
    }
}

impl fmt::Display for FrameFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{} {}", self.size.x, self.size.y, self.pixels)
    }
}

impl FrameFormat {
    /// Returns the format of RGBA frames of this size.
    #[must_use]
    pub const fn rgba8(width: u32, height: u32) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::Rgba8 }
    }

    /// Returns the format of NV12 frames of this size and colour encoding.
    #[must_use]
    pub const fn nv12(width: u32, height: u32, encoding: YuvEncoding) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::Nv12(encoding) }
    }

    /// Returns the format of P010 frames of this size and colour encoding.
    #[must_use]
    pub const fn p010(width: u32, height: u32, encoding: YuvEncoding) -> Self {
        Self { size: UVec2::new(width, height), pixels: PixelFormat::P010(encoding) }
    }

    /// Yields the extent of each plane: the only plane of RGBA, or luma and then chroma of NV12 and P010.
    pub fn planes(self) -> impl ExactSizeIterator<Item = PlaneExtent> {
        let UVec2 { x, y } = self.size;
        let plane = |row: u32, rows: u32, bytes: usize| PlaneExtent {
            row: row as usize * bytes,
            rows: rows as usize,
        };
        let (planes, count) = match self.pixels {
            PixelFormat::Rgba8 => ([plane(x, y, 4), plane(0, 0, 0)], 1),
            PixelFormat::Nv12(_) => ([plane(x, y, 1), plane(chroma_side(x), chroma_side(y), 2)], 2),
            PixelFormat::P010(_) => ([plane(x, y, 2), plane(chroma_side(x), chroma_side(y), 4)], 2),
        };
        planes.into_iter().take(count)
    }

    /// Splits the bytes of a frame without padding into its planes. If `bytes` is too short, the last planes are
    /// truncated or empty.
    fn split(self, bytes: &[u8]) -> impl Iterator<Item = PlaneBytes<'_>> {
        let mut rest = bytes;
        self.planes().map(move |extent| {
            let (bytes, after) = rest.split_at(extent.bytes().min(rest.len()));
            rest = after;
            PlaneBytes { bytes, pitch: extent.row }
        })
    }

    /// Splits the writable bytes of a frame without padding into its planes, and yields each plane with its extent. If
    /// `bytes` is too short, the last planes are truncated or empty.
    pub(crate) fn split_mut(
        self,
        bytes: &mut [u8],
    ) -> impl Iterator<Item = (&mut [u8], PlaneExtent)> {
        let mut rest = bytes;
        self.planes().map(move |extent| {
            let whole = std::mem::take(&mut rest);
            let (plane, after) = whole.split_at_mut(extent.bytes().min(whole.len()));
            rest = after;
            (plane, extent)
        })
    }

    /// Returns the bytes of a black frame without padding. In RGBA, its pixels are transparent.
    ///
    /// # Panics
    /// Panics if the frame does not fit into memory, which is possible only if [`check`](Self::check) fails.
    #[must_use]
    pub fn black(self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes()];
        self.fill_black(&mut bytes);
        bytes
    }

    /// Fills the bytes of a frame without padding with black.
    pub(crate) fn fill_black(self, bytes: &mut [u8]) {
        let limited = self.pixels.encoding().is_some_and(|it| it.range == Range::Limited);
        let luma = if limited { 16 } else { 0 };
        for ((plane, _), level) in self.split_mut(bytes).zip([luma, 128]) {
            match self.pixels {
                PixelFormat::Rgba8 | PixelFormat::Nv12(_) => plane.fill(level),
                // The upper byte of a sample is a level, and the lower one its quarters.
                PixelFormat::P010(_) => {
                    plane
                        .chunks_exact_mut(2)
                        .for_each(|sample| sample.copy_from_slice(&[0, level]));
                }
            }
        }
    }

    /// Returns the number of bytes of a frame without padding between its rows and planes, at most [`usize::MAX`].
    #[must_use]
    pub fn bytes(self) -> usize {
        self.planes().map(PlaneExtent::bytes).fold(0, usize::saturating_add)
    }

    /// Checks that width and height are 1 to [`MAX_CANVAS_SIDE`] pixels. Does not check
    /// [`MAX_SIDE`](crate::io::picture::MAX_SIDE), the smaller maximum for camera frames.
    ///
    /// # Errors
    /// Returns [`FrameError`] otherwise.
    pub fn check(self) -> Result<(), FrameError> {
        let UVec2 { x, y } = self.size;
        if self.size.min_element() > 0 && self.size.max_element() <= MAX_CANVAS_SIDE {
            return Ok(());
        }
        Err(FrameError(format!(
            "the frame is {x}×{y} pixels; each side must be 1 to {MAX_CANVAS_SIDE} pixels"
        )))
    }
}

/// The reason why planes in host memory do not form a frame of the stated format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct FrameError(String);

/// A plane in host memory. Its rows start `pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct PlaneBytes<'a> {
    /// The bytes, starting with the first row.
    pub bytes: &'a [u8],
    /// The distance from the start of one row to the start of the next, in bytes.
    pub pitch: usize,
}

/// A read-only frame in host memory, whose planes are long enough for its format.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    format: FrameFormat,
    planes: [PlaneBytes<'a>; 2],
}

impl<'a> Frame<'a> {
    /// Wraps a frame whose rows and planes follow each other without padding.
    ///
    /// # Errors
    /// Returns [`FrameError`] if the size is not supported or `bytes` is too short.
    pub fn tight(format: FrameFormat, bytes: &'a [u8]) -> Result<Self, FrameError> {
        format.check()?;
        Self::new(format, Self::of_tight(format, bytes).planes())
    }

    /// Wraps a frame as [`tight`](Self::tight) does, without checking the size of `format` and the length of `bytes`.
    pub(crate) fn of_tight(format: FrameFormat, bytes: &'a [u8]) -> Self {
        Self::of_planes(format, format.split(bytes))
    }

    /// Wraps planes that need not be adjacent in memory and may have padding after each row.
    ///
    /// # Errors
    /// Returns [`FrameError`] if the size is not supported, the number of planes is wrong, or a plane is too short.
    pub fn new(format: FrameFormat, planes: &[PlaneBytes<'a>]) -> Result<Self, FrameError> {
        format.check()?;
        let extents = format.planes();
        if planes.len() != extents.len() {
            let (found, expected) = (planes.len(), extents.len());
            return Err(FrameError(format!(
                "the frame has {found} planes, but its format needs {expected}"
            )));
        }
        for (i, (plane, extent)) in planes.iter().zip(extents).enumerate() {
            let PlaneBytes { bytes, pitch } = *plane;
            // The last row needs no padding.
            let needed = pitch.checked_mul(extent.rows - 1).and_then(|n| n.checked_add(extent.row));
            if pitch < extent.row || needed.is_none_or(|needed| bytes.len() < needed) {
                let (bytes, PlaneExtent { row, rows }) = (bytes.len(), extent);
                return Err(FrameError(format!(
                    "plane {i} of the frame has {bytes} bytes and a pitch of {pitch} bytes; one of them is too small for {rows} rows of {row} bytes"
                )));
            }
        }
        Ok(Self::of_planes(format, planes.iter().copied()))
    }

    /// Wraps planes without checking them.
    fn of_planes(format: FrameFormat, mut planes: impl Iterator<Item = PlaneBytes<'a>>) -> Self {
        let nothing = PlaneBytes { bytes: &[], pitch: 0 };
        let mut next = || planes.next().unwrap_or(nothing);
        Self { format, planes: [next(), next()] }
    }

    /// Returns the frame's size and pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns the planes: the only plane of RGBA, or luma and then chroma of NV12 and P010.
    #[must_use]
    pub fn planes(&self) -> &[PlaneBytes<'a>] {
        &self.planes[..self.format.planes().len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Image};

    #[test]
    fn the_number_of_bytes_does_not_wrap() {
        assert_eq!(FrameFormat::rgba8(u32::MAX, u32::MAX).bytes(), usize::MAX);
    }

    #[test]
    fn nv12_of_odd_size_has_chroma_for_its_last_column_and_row() {
        let format = FrameFormat::nv12(5, 3, YuvEncoding::default());
        assert_eq!(format.bytes(), 15 + 3 * 2 * 2);
        let bytes = vec![0; format.bytes()];
        let frame = Frame::tight(format, &bytes).unwrap();
        assert_eq!(frame.planes().iter().map(|p| p.bytes.len()).collect::<Vec<_>>(), [15, 12]);
    }

    #[test]
    fn rejects_wrong_sizes_and_planes() {
        let format = FrameFormat::rgba8(4, 2);
        let says = |found: Result<Frame<'_>, FrameError>, text: &str| {
            let said = found.unwrap_err().to_string();
            assert!(said.contains(text), "{said}");
        };
        let plane = |bytes, pitch| [PlaneBytes { bytes, pitch }];
        assert!(Frame::new(format, &plane(&[0; 36], 20)).is_ok(), "no padding after the last row");
        says(Frame::tight(format, &[0; 31]), "too small for 2 rows of 16 bytes");
        says(Frame::new(format, &plane(&[0; 64], 15)), "a pitch of 15 bytes");
        says(Frame::new(format, &plane(&[0; 64], usize::MAX)), "too small for 2 rows of 16 bytes");
        says(Frame::new(format, &[]), "0 planes, but its format needs 1");
        for (width, height) in [(0, 2), (u32::MAX, u32::MAX)] {
            says(Frame::tight(FrameFormat::rgba8(width, height), &[]), "each side must be");
        }
    }

    /// The planes of a frame in device memory are public, so a caller can replace one by a smaller one.
    #[test]
    fn a_chroma_plane_of_another_size_is_refused() {
        let device = Device::cpu();
        let stream = device.stream().unwrap();
        let format = FrameFormat::nv12(640, 480, YuvEncoding::default());
        let mut frame = DeviceFrame::new(&device, format).unwrap();
        if let DeviceFrame::Nv12 { uv, .. } = &mut frame {
            *uv = Image::new(&device, 1, 1).unwrap();
        }
        let mut bytes = vec![0; format.bytes()];
        let refused = frame.download(&stream, &mut bytes).unwrap_err().to_string();
        assert!(refused.contains("chroma plane") && refused.contains("320"), "{refused}");
        assert!(frame.upload(&stream, &Frame::tight(format, &bytes).unwrap()).is_err());
    }
}
