//! Frames of cameras and panoramas, in host memory and in device memory.
//!
//! A [`FrameFormat`] is a size in pixels and a [`PixelFormat`]. This module does not read or write files; picture files
//! are in [`picture`](crate::io::picture).

mod converted;
mod device;
mod format;
mod launch;
mod rate;
mod tags;
mod textured;

use thiserror::Error;

pub use converted::ConvertedFrame;
pub use cuda_std::{DeviceView, DeviceViewMut};
pub use device::{DeviceFrame, DevicePlane, FormatMismatch, FrameRef, FrameView, FrameViewMut};
pub(crate) use format::{Byte, Samples};
pub use format::{FrameFormat, PixelFormat, PlaneExtent};
pub(crate) use launch::{cell_launch, launch_by_formats};
pub use rate::{MAX_INTERVAL, MAX_RATE, Rate, RateError};
pub use shared_types::Rgba8;
pub use shared_types::nv12::{DeviceNv12, DeviceNv12Mut, DeviceP010, DeviceP010Mut};
pub use shared_types::yuv::{Range, YuvEncoding, YuvMatrix};
pub use tags::{ColourTags, Primaries, Transfer};
pub(crate) use textured::{Textured, TexturedFrames};

/// The maximum width and height in pixels of a frame, and of the canvas of a panorama.
pub const MAX_CANVAS_SIDE: u32 = 32_768;

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
    planes: [PlaneBytes<'a>; 3],
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
        let planes = format.split(bytes);
        Self::of_planes(
            format,
            planes.map(|(bytes, extent)| PlaneBytes { bytes, pitch: extent.row }),
        )
    }

    /// Returns the frame as one of `format`, which has the same size and planes but may have another encoding.
    pub(crate) fn tagged(self, format: FrameFormat) -> Self {
        Self { format, ..self }
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
        Self { format, planes: [next(), next(), next()] }
    }

    /// Returns the frame's size and pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Copies the planes to `memory`, one after the other, without padding.
    pub(crate) fn copy_to(&self, memory: &mut [u8]) {
        for (from, (to, extent)) in self.planes().iter().zip(self.format.split_mut(memory)) {
            if from.pitch == extent.row {
                to.copy_from_slice(&from.bytes[..extent.bytes()]);
                continue;
            }
            for (to, from) in to.chunks_exact_mut(extent.row).zip(from.bytes.chunks(from.pitch)) {
                to.copy_from_slice(&from[..extent.row]);
            }
        }
    }

    /// Returns the planes, in the order in which [`PixelFormat`] describes them.
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
