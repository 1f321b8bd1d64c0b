//! A video file as frames of one size, one format and a constant rate.
//!
//! ffmpeg turns pictures upright, repeats and leaves out frames until the rate is constant, and converts
//! 10-bit and 4:2:2 video to 8-bit 4:2:0. Matrix and range stay as they are stored, if they are
//! known: the conversion to colour is the kernel's. Interlaced video is not deinterlaced, and pixels
//! that are not square stay so.

use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use super::probe::Probe;
use super::process::{Child, Killer};
use super::{FFMPEG, url};
use crate::frame::{FrameFormat, Matrix, PixelFormat, Range, YuvEncoding};
use crate::video::source::ReadFrame;
use crate::video::stream::RawReader;
use crate::video::{Rate, Stop, VideoError, Work};

/// How long ffmpeg may take to end after its last frame.
const LIMIT: Duration = Duration::from_secs(10);

/// ffmpeg at work.
pub(in crate::video) struct Decoder {
    child: Child,
    frames: RawReader<ChildStdout>,
}

impl Decoder {
    /// Starts decoding to frames of `format` at `rate`.
    pub(in crate::video) fn start(
        path: &Path,
        probe: &Probe,
        rate: Rate,
        format: FrameFormat,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let mut command = FFMPEG.command();
        command
            .args(["-nostdin", "-hide_banner", "-loglevel", "error", "-i"])
            .arg(url(path))
            .arg("-map")
            .arg(format!("0:{}", probe.index))
            .arg("-vf")
            .arg(filters(probe, rate, format))
            .args(["-f", "rawvideo", "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = Child::start(FFMPEG, &mut command, path, Work::Decoding, stop)?;
        let stdout = child.stdout().ok_or_else(|| VideoError::Unreadable {
            file: path.to_owned(),
            source: std::io::ErrorKind::BrokenPipe.into(),
        })?;
        Ok(Self { child, frames: RawReader::new(path, stdout) })
    }

    /// Ends ffmpeg when it is dropped.
    pub(in crate::video) fn killer(&self) -> Killer {
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
    // The first frames of both cameras belong together, wherever their clocks begin.
    format!(
        "setpts=PTS-STARTPTS,fps={rate},scale={}:{}{input}{output},format={pixels}",
        format.size.x, format.size.y
    )
}

fn range_and_matrix(side: &str, YuvEncoding { matrix, range }: YuvEncoding) -> String {
    let matrix = match matrix {
        Matrix::Bt601 => "bt601",
        Matrix::Bt709 => "bt709",
    };
    let range = match range {
        Range::Limited => "limited",
        Range::Full => "full",
    };
    format!(":{side}_color_matrix={matrix}:{side}_range={range}")
}

impl ReadFrame for Decoder {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        match self.frames.read_frame(frame) {
            Ok(true) => Ok(true),
            // Why it stopped is the better message, if it was stopped.
            ended => {
                self.child.wait(Some(LIMIT))?;
                let said = self.child.said();
                if !said.is_empty() {
                    tracing::warn!("ffmpeg while decoding: {said}");
                }
                ended
            }
        }
    }
}
