//! Reads and writes picture sequences, which are numbered PNG or JPEG files.

use std::path::PathBuf;

use glam::UVec2;
use shared_types::Rgba8;

use super::{Pattern, VideoError, stream};
use crate::frame::Frame;
use crate::io::Conversion;
use crate::io::picture::Picture;
use crate::io::video::read_frame::ReadFrame;

/// The number of the first picture in a written sequence. It is the default of ffmpeg.
const FIRST: u64 = 1;

/// Reads pictures in the order of their numbers. All must have the same size.
pub(super) struct Reader {
    pattern: Pattern,
    /// The number of the next picture. `None` after the picture with the number `u64::MAX`.
    next: Option<u64>,
    last: u64,
    size: UVec2,
    conversions: Vec<Conversion>,
}

impl Reader {
    /// Finds the files of the sequence, and reads the first picture for its size.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, VideoError> {
        let (first, last) = pattern.find()?;
        let next = Some(first);
        let first = Picture::open(pattern.file(first))?;
        let size = first.size();
        // Only the first picture is examined, because the pictures of a sequence come from one camera or program.
        let alpha = (!first.is_opaque()).then_some(Conversion::Alpha);
        let conversions = first.conversions().chain(alpha).collect();
        Ok(Self { pattern: pattern.clone(), next, last, size, conversions })
    }

    pub(super) fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the next picture and its number, or the last one at the end.
    pub(super) fn first(&self) -> (PathBuf, u64) {
        let number = self.next.unwrap_or(self.last);
        (self.pattern.file(number), number)
    }

    /// Returns the properties of the first picture that frames lack.
    pub(super) fn conversions(&self) -> &[Conversion] {
        &self.conversions
    }

    /// Returns the number of pictures left to read.
    pub(super) fn len(&self) -> u64 {
        self.next.map_or(0, |next| self.last - next + 1)
    }
}

impl ReadFrame for Reader {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        let Some(next) = self.next.filter(|next| *next <= self.last) else { return Ok(false) };
        let file = self.pattern.file(next);
        let picture = Picture::open(&file)?;
        let (found, expected) = (picture.size(), self.size);
        if found != expected {
            return Err(VideoError::input(
                &file,
                format!(
                    "the picture is {}×{} pixels, but the first picture of the sequence is {}×{}; use pictures of one size",
                    found.x, found.y, expected.x, expected.y
                ),
            ));
        }
        frame.copy_from_slice(bytemuck::cast_slice(picture.pixels()));
        self.next = next.checked_add(1);
        Ok(true)
    }
}

/// Writes frames as pictures with consecutive numbers.
pub(super) struct Writer {
    pattern: Pattern,
    next: u64,
    picture: Picture,
}

impl Writer {
    pub(super) fn new(pattern: &Pattern, size: UVec2) -> Self {
        let picture = Picture::filled(size.x, size.y, Rgba8::BLACK);
        Self { pattern: pattern.clone(), next: FIRST, picture }
    }

    /// Writes an RGBA frame as the next picture of the sequence.
    pub(super) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let pixels: &mut [u8] = bytemuck::cast_slice_mut(self.picture.pixels_mut());
        let mut rest = pixels;
        for row in stream::rows(frame).flatten() {
            let (to, after) = rest.split_at_mut(row.len());
            to.copy_from_slice(row);
            rest = after;
        }
        self.picture.save(self.pattern.file(self.next))?;
        self.next += 1;
        Ok(())
    }

    /// Ends the sequence. Logs a warning if a file with the next number already exists, probably from an earlier,
    /// longer video, because readers would treat it as a part of this sequence.
    pub(super) fn finish(self) {
        let next = self.pattern.file(self.next);
        if next != self.pattern.path() && next.exists() {
            tracing::warn!("{} is from an earlier video; this video is shorter", next.display());
        }
    }
}
