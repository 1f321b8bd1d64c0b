//! Decodes a video file to frames of one size, one format and a constant rate.
//!
//! ffmpeg rotates pictures upright, repeats and drops frames to a constant rate, and converts 10-bit and 4:2:2 video
//! to 8-bit 4:2:0. Known matrices and ranges stay as stored, because the kernel converts the colours. Interlaced video
//! is not deinterlaced, and non-square pixels stay so.
//!
//! If a file changes its size or pixel format midway, all frames are converted to the first frame's. A jump of the
//! timestamps, which would be filled with endless frames, is an error.

use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use super::probe::Probe;
use super::process::{Child, Killer};
use super::{FFMPEG, url};
use crate::frame::Rate;
use crate::frame::{FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use crate::io::video::read_frame::ReadFrame;
use crate::io::video::stream::RawReader;
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// Time for ffmpeg to end after its last frame.
const LIMIT: Duration = Duration::from_secs(10);

/// Longest gap between two frames that is filled, in seconds. Cameras pause, but setting a camera's clock while it
/// records makes a gap of years.
const MAX_HOLE: u32 = 600;

/// A running ffmpeg.
pub(in crate::io::video) struct Decoder {
    child: Child,
    frames: RawReader<ChildStdout>,
    rate: Rate,
    /// The number of frames read.
    read: u64,
    file: PathBuf,
}

/// A gap in a video that is not filled.
struct Jump {
    /// Time from the frame before to the one after; negative if backwards.
    seconds: f64,
    /// Time of the frame before, since the first frame.
    time: f64,
}

impl Decoder {
    /// Starts decoding to frames of `format` at `rate`.
    pub(in crate::io::video) fn start(
        path: &Path,
        probe: &Probe,
        rate: Rate,
        format: FrameFormat,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let mut command = FFMPEG.command();
        command
            .args(["-nostdin", "-hide_banner", "-loglevel", "error"])
            // `scale` absorbs a change within the file. A new filter graph would restart the clock.
            .args(["-reinit_filter", "0", "-i"])
            .arg(url(path))
            .arg("-map")
            .arg(format!("0:{}", probe.index))
            .arg("-vf")
            .arg(filters(probe, rate, format))
            .args(["-f", "rawvideo", "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = Child::start(FFMPEG, &mut command, path, FfmpegTask::Decoding, stop)?;
        let stdout = child.stdout().ok_or_else(|| VideoError::Unreadable {
            file: path.to_owned(),
            source: std::io::ErrorKind::BrokenPipe.into(),
        })?;
        let frames = RawReader::new(path, stdout);
        Ok(Self { child, frames, rate, read: 0, file: path.to_owned() })
    }

    /// Returns a handle that kills ffmpeg when it is dropped.
    pub(in crate::io::video) fn killer(&self) -> Killer {
        Killer(self.child.clone())
    }
}

fn filters(probe: &Probe, rate: Rate, format: FrameFormat) -> String {
    let (input, output, pixels) = match (probe.stored(), format.pixels) {
        (Some(stored), PixelFormat::Nv12(wanted)) => {
            (range_and_matrix("in", stored), range_and_matrix("out", wanted), "nv12")
        }
        (None, PixelFormat::Nv12(wanted)) => {
            (String::new(), range_and_matrix("out", wanted), "nv12")
        }
        (Some(stored), PixelFormat::Rgba8) => {
            (range_and_matrix("in", stored), String::new(), "rgba")
        }
        (None, PixelFormat::Rgba8) => (String::new(), String::new(), "rgba"),
    };
    // The first frames of both cameras belong together, whatever their clocks. ffmpeg prints a jump as two numbers on
    // lines of their own, which nothing else prints at this log level (16, errors).
    let jump =
        format!("if(gt(abs(T-PREV_INT),{MAX_HOLE}),print(T-PREV_INT,16)+print(PREV_OUTT,16),0)");
    format!(
        "setpts='PTS-STARTPTS+0*{jump}',fps={rate},scale={}:{}{input}{output},format={pixels}",
        format.size.x, format.size.y
    )
}

fn range_and_matrix(side: &str, YuvEncoding { matrix, range }: YuvEncoding) -> String {
    let matrix = match matrix {
        YuvMatrix::Bt601 => "bt601",
        YuvMatrix::Bt709 => "bt709",
    };
    let range = match range {
        Range::Limited => "limited",
        Range::Full => "full",
    };
    format!(":{side}_color_matrix={matrix}:{side}_range={range}")
}

impl Decoder {
    /// Returns the first jump that ffmpeg has printed.
    fn jump(&self) -> Option<Jump> {
        let number = |line: &String| line.rsplit("] ").next().and_then(|text| text.parse().ok());
        let lines = self.child.lines_so_far();
        let mut numbers = lines.iter().filter_map(number);
        Some(Jump { seconds: numbers.next()?, time: numbers.next()? })
    }

    /// Returns whether frame `self.read` would fill the gap of this jump. ffmpeg prints a jump while frames before it
    /// are still in the pipe.
    fn is_past(&self, jump: &Jump) -> bool {
        self.read as f64 > (jump.time * self.rate.per_second()).round()
    }

    fn jumped(&self, jump: &Jump) -> VideoError {
        let file = self.file.clone();
        VideoError::Jump { file, seconds: jump.seconds, most: MAX_HOLE }
    }
}

impl ReadFrame for Decoder {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        if let Some(jump) = self.jump().filter(|jump| self.is_past(jump)) {
            // At once, because ffmpeg is filling the gap.
            self.child.kill();
            return Err(self.jumped(&jump));
        }
        match self.frames.read_frame(frame) {
            Ok(true) => {
                self.read += 1;
                Ok(true)
            }
            // If it was stopped, the reason for that is the better message.
            ended => {
                let waited = self.child.wait(Some(LIMIT));
                let said = self.child.said();
                if let Some(jump) = self.jump() {
                    return Err(self.jumped(&jump));
                }
                waited?;
                if !said.is_empty() {
                    tracing::warn!("ffmpeg while decoding: {said}");
                }
                ended
            }
        }
    }
}
