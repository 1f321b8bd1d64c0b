//! Reads and writes Y4M (YUV4MPEG2) streams: a header line, and then for each frame a `FRAME` line and its planes.
//!
//! - The reader supports 4:2:0 with 8 and 10 bits, and mono with 8 bits. For 4:2:2, 4:4:4 and other depths, it returns
//!   an error that names the format.
//! - A 10-bit sample is in the lower bits of 16, little-endian. It is converted to P010, which has it in the upper
//!   bits.
//! - The chroma siting in the header is ignored: each chroma sample is assumed to be in the centre of four pixels, as
//!   in `420jpeg`.
//! - Interlaced frames are not deinterlaced.
//! - Frames of 8 bits are I420 or GRAY8, whose planes Y4M has. Of frames of 10 bits, the two chroma planes are converted
//!   to the interleaved one of P010 and back.
//! - Y4M does not state the colour matrix, so the customary matrix for the frame size is assumed (see
//!   `medium::customary`).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use glam::UVec2;

use super::medium::customary;
use super::{VideoError, stream};
use crate::frame::Rate;
use crate::frame::{Frame, FrameFormat, PixelFormat, Range};
use crate::io::video::read_frame::ReadFrame;

const MAGIC: &str = "YUV4MPEG2";

/// The maximum length of a header line or `FRAME` line in bytes. Common programs write lines of fewer than 200 bytes.
const MAX_LINE: u64 = 1024;

/// The size of the read buffer in bytes.
const BUFFER: usize = 1 << 16;

/// The parameters in the header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Width and height in pixels.
    pub(super) size: UVec2,
    /// The frame rate, if the header states it.
    pub(super) rate: Option<Rate>,
    /// The range of luma and chroma values.
    pub(super) range: Range,
    pub(super) samples: Samples,
}

/// The planes of a frame, and the depth of their samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Samples {
    /// Luma of 8 bits without chroma planes.
    Mono,
    /// 4:2:0 with 8 bits.
    Eight,
    /// 4:2:0 with 10 bits.
    Ten,
}

impl Samples {
    /// Returns the samples of frames in I420 or P010.
    pub(super) fn of(pixels: PixelFormat) -> Self {
        if pixels.bits() > 8 { Self::Ten } else { Self::Eight }
    }
}

/// The number of bits by which P010 shifts a sample.
const SHIFT: u32 = 6;

/// The maximum of a sample with 10 bits.
const MAX_TEN: u16 = 1023;

/// Shifts the 10-bit samples of a plane, which are little-endian.
fn shifted(plane: &mut [u8], shift: impl Fn(u16) -> u16) {
    for sample in plane.chunks_exact_mut(2) {
        let value = u16::from_le_bytes([sample[0], sample[1]]);
        sample.copy_from_slice(&shift(value).to_le_bytes());
    }
}

impl Header {
    /// Parses the header line. `line` must not include the line end.
    ///
    /// # Errors
    /// Returns the reason as text if the line is not a valid header, or its pixel format is not supported.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).ok().and_then(|text| text.strip_prefix(MAGIC));
        let text = text.ok_or_else(|| format!("the file does not begin with {MAGIC}"))?;
        if !text.is_empty() && !text.starts_with(' ') {
            return Err(format!(
                "the file begins with {MAGIC}{text}, not with {MAGIC} and a space"
            ));
        }
        let (mut width, mut height) = (None, None);
        let (mut rate, mut range, mut samples) = (None, Range::Limited, Samples::Eight);
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            // A parameter is one ASCII letter and a value.
            let Some((kind, value)) = word.split_at_checked(1) else {
                return Err(format!("unknown parameter {word:?}"));
            };
            match kind {
                "W" => width = Some(side(value)?),
                "H" => height = Some(side(value)?),
                "F" if value == "0:0" => {}
                "F" => rate = Some(value.parse().map_err(|e| format!("F{value}: {e}"))?),
                "C" => match value {
                    "420" | "420jpeg" | "420mpeg2" | "420paldv" => samples = Samples::Eight,
                    "420p10" => samples = Samples::Ten,
                    "mono" => samples = Samples::Mono,
                    _ => {
                        return Err(format!(
                            "the pixel format is C{value}; convert it to C420jpeg or C420p10"
                        ));
                    }
                },
                "X" => match value {
                    "COLORRANGE=FULL" => range = Range::Full,
                    "COLORRANGE=LIMITED" => range = Range::Limited,
                    _ => {}
                },
                // Ignore interlacing, pixel aspect ratio and unknown parameters.
                _ => {}
            }
        }
        let (Some(x), Some(y)) = (width, height) else {
            return Err("the header lacks the width or the height".into());
        };
        Ok(Self { size: UVec2::new(x, y), rate, range, samples })
    }

    /// Returns the header line with its line end.
    #[must_use]
    pub(super) fn line(&self) -> String {
        let Self { size, rate, range, samples } = self;
        let (numerator, denominator) = rate.map_or((0, 0), Rate::fraction);
        let colour = match samples {
            Samples::Mono => "mono",
            Samples::Eight => "420jpeg",
            Samples::Ten => "420p10",
        };
        let range = if *range == Range::Full { "FULL" } else { "LIMITED" };
        format!(
            "{MAGIC} W{} H{} F{numerator}:{denominator} Ip A1:1 C{colour} XCOLORRANGE={range}\n",
            size.x, size.y
        )
    }

    /// Returns the format of the frames that [`Reader`] returns and [`Writer`] accepts.
    #[must_use]
    pub(super) fn format(&self) -> FrameFormat {
        let encoding = customary(self.size, self.range);
        let pixels = match self.samples {
            Samples::Mono => PixelFormat::Gray8(encoding),
            Samples::Eight => PixelFormat::I420(encoding),
            Samples::Ten => PixelFormat::P010(encoding),
        };
        FrameFormat { size: self.size, pixels }
    }
}

fn side(text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| format!("invalid width or height {text:?}"))
}

/// Reads the frames of a Y4M stream as I420, GRAY8 or P010.
pub(super) struct Reader<R> {
    file: PathBuf,
    input: BufReader<R>,
    header: Header,
    /// The length of the header line in bytes, with its line end.
    header_bytes: u64,
    /// A buffer for the two chroma planes of a frame of 10 bits.
    planar: Vec<u8>,
    /// The number of frames read.
    frames: u64,
}

impl<R: Read> Reader<R> {
    /// Creates a reader and reads the header line.
    pub(super) fn new(file: &Path, input: R) -> Result<Self, VideoError> {
        let mut input = BufReader::with_capacity(BUFFER, input);
        let wrong = |reason| VideoError::Y4m { file: file.to_owned(), reason };
        let (header, bytes) = match line(file, &mut input)? {
            Some(line) => (Header::parse(&line).map_err(wrong)?, line.len() as u64 + 1),
            None => return Err(VideoError::NoFrames { file: file.to_owned() }),
        };
        super::read_frame::check(file, header.size)?;
        let (file, planar) = (file.to_owned(), Vec::new());
        Ok(Self { file, input, header, header_bytes: bytes, planar, frames: 0 })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the approximate number of frames in a file of `bytes` bytes. The number is too high if the `FRAME` lines
    /// have parameters, because they are not counted.
    pub(super) fn frames_in(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.header_bytes) / (self.header.format().bytes() as u64 + 6)
    }
}

impl<R: Read + Send> ReadFrame for Reader<R> {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        let file = &self.file;
        match line(file, &mut self.input)? {
            None => return Ok(false),
            Some(line) if line == b"FRAME" || line.starts_with(b"FRAME ") => {}
            Some(_) => {
                let reason = format!("there is no FRAME line before frame {}", self.frames);
                return Err(VideoError::Y4m { file: file.clone(), reason });
            }
        }
        let read = stream::fill(&mut self.input, frame).map_err(|e| unreadable(file, e))?;
        if read < frame.len() {
            let (frame, found, expected) = (self.frames, read, frame.len());
            return Err(VideoError::Truncated { file: file.clone(), frame, found, expected });
        }
        self.frames += 1;
        if self.header.samples == Samples::Ten {
            let luma = self.header.format().planes().next().map_or(0, |plane| plane.bytes());
            self.planar.clear();
            self.planar.extend_from_slice(&frame[luma..]);
            let (u, v) = self.planar.split_at(self.planar.len() / 2);
            let samples = u.chunks_exact(2).zip(v.chunks_exact(2));
            for (pair, (u, v)) in frame[luma..].chunks_exact_mut(4).zip(samples) {
                pair[..2].copy_from_slice(u);
                pair[2..].copy_from_slice(v);
            }
            // A larger sample is invalid. Without the limit, white would become black.
            shifted(frame, |sample| sample.min(MAX_TEN) << SHIFT);
        }
        Ok(true)
    }
}

/// Reads a line and returns it without its line end. Returns `None` at the end of the input.
fn line(file: &Path, input: &mut impl BufRead) -> Result<Option<Vec<u8>>, VideoError> {
    let mut line = Vec::new();
    let read = input.take(MAX_LINE).read_until(b'\n', &mut line);
    read.map_err(|source| unreadable(file, source))?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) => {
            let reason = format!("a header line is truncated or longer than {MAX_LINE} bytes");
            Err(VideoError::Y4m { file: file.to_owned(), reason })
        }
    }
}

fn unreadable(file: &Path, source: io::Error) -> VideoError {
    VideoError::Unreadable { file: file.to_owned(), source }
}

/// Writes I420, GRAY8 or P010 frames as a Y4M stream.
pub(super) struct Writer<W> {
    output: W,
    /// The header line, which is written with the first frame. `None` afterwards.
    line: Option<String>,
    samples: Samples,
    /// A buffer for a plane of 10 bits.
    plane: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(output: W, header: &Header) -> Self {
        let (line, samples) = (Some(header.line()), header.samples);
        Self { output, line, samples, plane: Vec::new() }
    }

    /// Writes a frame in the format of the header.
    pub(super) fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        if let Some(line) = self.line.take() {
            self.output.write_all(line.as_bytes())?;
        }
        self.output.write_all(b"FRAME\n")?;
        if self.samples != Samples::Ten {
            return stream::write_raw(&mut self.output, frame);
        }
        // All luma samples, then every second chroma sample from the first one on, then from the second one on.
        for (plane, first, step) in [(0, 0, 1), (1, 0, 2), (1, 1, 2)] {
            self.plane.clear();
            for row in stream::rows(frame).nth(plane).into_iter().flatten() {
                self.plane.extend(row.chunks_exact(2).skip(first).step_by(step).flatten());
            }
            shifted(&mut self.plane, |sample| sample >> SHIFT);
            self.output.write_all(&self.plane)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
