//! Reads and writes Y4M (YUV4MPEG2) streams: a header line, and then for each frame a `FRAME` line and its planes.
//!
//! - The reader supports 8-bit 4:2:0 and mono. For 4:2:2, 4:4:4 and more than 8 bits, it returns an error that names
//!   the format.
//! - The chroma siting in the header is ignored: each chroma sample is assumed to be in the centre of four pixels, as
//!   in `420jpeg`.
//! - Interlaced frames are not deinterlaced.
//! - The two chroma planes of Y4M are converted to the interleaved chroma plane of NV12 and back.
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
    /// Whether the frames have no chroma planes.
    pub(super) mono: bool,
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
        let (mut rate, mut range, mut mono) = (None, Range::Limited, false);
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
                    "420" | "420jpeg" | "420mpeg2" | "420paldv" => mono = false,
                    "mono" => mono = true,
                    _ => {
                        return Err(format!(
                            "the pixel format is C{value}; convert it to C420jpeg"
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
        Ok(Self { size: UVec2::new(x, y), rate, range, mono })
    }

    /// Returns the header line with its line end.
    #[must_use]
    pub(super) fn line(&self) -> String {
        let Self { size, rate, range, mono } = self;
        let (numerator, denominator) = rate.map_or((0, 0), Rate::fraction);
        let (colour, range) = (
            if *mono { "mono" } else { "420jpeg" },
            if *range == Range::Full { "FULL" } else { "LIMITED" },
        );
        format!(
            "{MAGIC} W{} H{} F{numerator}:{denominator} Ip A1:1 C{colour} XCOLORRANGE={range}\n",
            size.x, size.y
        )
    }

    /// Returns the format of the frames that [`Reader`] returns and [`Writer`] accepts.
    #[must_use]
    pub(super) fn format(&self) -> FrameFormat {
        FrameFormat { size: self.size, pixels: PixelFormat::Nv12(customary(self.size, self.range)) }
    }

    /// Returns the size of a frame in the file in bytes, not counting its `FRAME` line.
    fn frame_bytes(&self) -> usize {
        let chroma = self.format().planes().nth(1).map_or(0, |plane| plane.bytes());
        self.format().bytes() - if self.mono { chroma } else { 0 }
    }
}

fn side(text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| format!("invalid width or height {text:?}"))
}

/// Reads the frames of a Y4M stream as NV12.
pub(super) struct Reader<R> {
    file: PathBuf,
    input: BufReader<R>,
    header: Header,
    /// The length of the header line in bytes, with its line end.
    header_bytes: u64,
    /// A buffer for the two chroma planes of a frame.
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
        bytes.saturating_sub(self.header_bytes) / (self.header.frame_bytes() as u64 + 6)
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
        let luma = self.header.format().planes().next().map_or(0, |plane| plane.bytes());
        let (y, uv) = frame.split_at_mut(luma);
        // `vec![0; n]` does not commit memory until it is written. Thus a file whose header claims large frames, but
        // which contains little data, uses little memory.
        if self.planar.is_empty() {
            self.planar = vec![0; self.header.frame_bytes() - luma];
        }
        let expected = self.header.frame_bytes();
        let mut found = stream::fill(&mut self.input, y).map_err(|e| unreadable(file, e))?;
        if found == luma {
            let chroma = stream::fill(&mut self.input, &mut self.planar);
            found += chroma.map_err(|e| unreadable(file, e))?;
        }
        if found < expected {
            let frame = self.frames;
            return Err(VideoError::Truncated { file: file.clone(), frame, found, expected });
        }
        self.frames += 1;
        if self.header.mono {
            uv.fill(128);
            return Ok(true);
        }
        let (u, v) = self.planar.split_at(self.planar.len() / 2);
        for (pair, (u, v)) in uv.chunks_exact_mut(2).zip(u.iter().zip(v)) {
            pair.copy_from_slice(&[*u, *v]);
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

/// Writes NV12 frames as a Y4M stream.
pub(super) struct Writer<W> {
    output: W,
    /// The header line, which is written with the first frame. `None` afterwards.
    line: Option<String>,
    /// A buffer for the two chroma planes of a frame.
    planar: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(output: W, header: &Header) -> Self {
        Self { output, line: Some(header.line()), planar: Vec::new() }
    }

    /// Writes an NV12 frame.
    pub(super) fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        if let Some(line) = self.line.take() {
            self.output.write_all(line.as_bytes())?;
        }
        self.output.write_all(b"FRAME\n")?;
        let mut planes = stream::rows(frame);
        planes.next().into_iter().flatten().try_for_each(|row| self.output.write_all(row))?;
        self.planar.clear();
        let uv: Vec<&[u8]> = planes.next().into_iter().flatten().collect();
        for component in 0..2 {
            self.planar.extend(uv.iter().flat_map(|row| row.iter().skip(component).step_by(2)));
        }
        self.output.write_all(&self.planar)
    }
}

#[cfg(test)]
mod tests;
