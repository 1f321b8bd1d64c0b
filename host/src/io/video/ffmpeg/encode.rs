//! Encodes frames to a video file: H.264 by libx264, with the sound of another file.
//!
//! The pictures are encoded to a temporary file beside the output. When it is complete, its length is known, and sound
//! of that length is added: copied, or as AAC if the container does not support it. Only then the file gets its final
//! name, so an old file is replaced atomically. `-shortest` would need one run, but cuts the pictures if the sound is
//! shorter.
//!
//! ffmpeg up to version 6 returns 0 if only the end of a file cannot be written, for instance on a full disk. So its
//! messages and the file's length are checked too.
//!
//! H.264 with chroma at half size has even sides: the last column or row of an odd panorama is dropped.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use glam::UVec2;
use tempfile::TempPath;

use super::probe::Sound;
use super::process::Child;
use super::{FFMPEG, url};
use crate::frame::Rate;
use crate::frame::{Frame, FrameFormat, YuvEncoding};
use crate::io::video::medium::container;
use crate::io::video::stream::write_raw;
use crate::io::video::{FfmpegTask, Stop, VideoError};
use crate::io::{Unfinished, temporary_beside};

/// The encoder.
const ENCODER: &str = "libx264";

/// ffmpeg's message for a file without its end.
const NO_END: &str = "Error writing trailer";

/// Tags of the pictures: BT.709, limited range, chroma centred in its pixels.
const TAGS: [&str; 10] = [
    "-color_range",
    "tv",
    "-colorspace",
    "bt709",
    "-color_primaries",
    "bt709",
    "-color_trc",
    "bt709",
    "-chroma_sample_location",
    "center",
];

/// Quality of H.264: 0 is lossless, 51 the worst; 6 more halves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crf(u8);

impl Crf {
    /// Creates a quality; `None` if the value is out of range.
    #[must_use]
    pub fn new(value: u8) -> Option<Self> {
        (value <= 51).then_some(Self(value))
    }
}

impl Default for Crf {
    /// Returns a quality that is sufficient for cutting and encoding again.
    fn default() -> Self {
        Self(20)
    }
}

/// A running ffmpeg.
pub(in crate::io::video) struct Encoder {
    child: Child,
    frames: Option<ChildStdin>,
    written: u64,
    rate: Rate,
    output: PathBuf,
    format: &'static str,
    pictures: TempPath,
    /// For a program that ends immediately.
    _unfinished: Unfinished,
    /// The resolved output path, if the output is a link.
    target: PathBuf,
    sound: Option<Sound>,
    stop: Stop,
}

impl Encoder {
    /// Returns the required frame format.
    pub(in crate::io::video) fn format(size: UVec2) -> FrameFormat {
        FrameFormat::nv12(size.x, size.y, YuvEncoding::default())
    }

    /// Starts encoding.
    pub(in crate::io::video) fn start(
        output: &Path,
        size: UVec2,
        rate: Rate,
        crf: Crf,
        sound: Option<Sound>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        if size.min_element() < 2 {
            return Err(VideoError::TooSmall { file: output.to_owned(), size });
        }
        let format =
            container(output).ok_or_else(|| VideoError::Extension { file: output.to_owned() })?;
        let unwritable = |source| VideoError::Unwritable { file: output.to_owned(), source };
        let (unfinished, pictures, target) = temporary_beside(output).map_err(unwritable)?;
        let pictures = pictures.into_temp_path();
        let mut command = quiet();
        command
            .args(["-xerror", "-f", "rawvideo", "-pix_fmt", "nv12", "-color_range", "tv"])
            .args(["-colorspace", "bt709", "-s"])
            .arg(format!("{}x{}", size.x, size.y))
            .args(["-framerate", &rate.to_string(), "-i", "pipe:0"])
            .args(["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0", "-pix_fmt", "yuv420p"])
            .args(["-c:v", ENCODER, "-crf", &crf.0.to_string()])
            .args(TAGS)
            .args(["-f", format])
            .arg(url(&pictures))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let child = Child::start(FFMPEG, &mut command, output, FfmpegTask::Encoding, stop)?;
        let frames = child.stdin();
        let (output, stop) = (output.to_owned(), stop.clone());
        Ok(Self {
            child,
            frames,
            written: 0,
            rate,
            output,
            format,
            pictures,
            _unfinished: unfinished,
            target,
            sound,
            stop,
        })
    }

    pub(in crate::io::video) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let written = match &mut self.frames {
            Some(frames) => write_raw(frames, frame),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.written += 1;
        written.map_err(|source| {
            self.frames = None;
            // ffmpeg's own message explains why it stopped reading.
            match self.ended() {
                Err(error) => error,
                Ok(()) => {
                    let deaf = "ffmpeg ended without an error, but before it had read all frames; is it ffmpeg?";
                    let source = match source.kind() {
                        kind @ io::ErrorKind::BrokenPipe => io::Error::new(kind, deaf),
                        _ => source,
                    };
                    VideoError::Unwritable { file: self.output.clone(), source }
                }
            }
        })
    }

    /// Waits for the encoder, adds the sound and renames the file.
    pub(in crate::io::video) fn finish(mut self) -> Result<(), VideoError> {
        self.frames = None;
        self.ended()?;
        self.complete(&self.child, &self.pictures, 1)?;
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        let whole = match &self.sound {
            Some(sound) => match self.with_sound(sound) {
                Ok(whole) => whole,
                // Hours of encoding are not discarded for it.
                Err(error) if !self.stop.is_killed() => {
                    tracing::warn!("written without sound: {error}");
                    self.pictures
                }
                Err(error) => return Err(error),
            },
            None => self.pictures,
        };
        std::fs::File::open(&whole).and_then(|file| file.sync_all()).map_err(unwritable)?;
        whole.persist(&self.target).map_err(|error| unwritable(error.error))
    }

    fn ended(&self) -> Result<(), VideoError> {
        self.child.wait(None).map_err(|error| match error {
            VideoError::Ffmpeg { file, said, .. } if said.contains("Unknown encoder") => {
                VideoError::NoEncoder { file, encoder: ENCODER }
            }
            other => other,
        })
    }

    /// Checks a file whose encoder succeeded: it has its end, and at least `least` bytes.
    fn complete(&self, child: &Child, file: &Path, least: u64) -> Result<(), VideoError> {
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        if child.said().contains(NO_END) {
            return Err(child.failed());
        }
        let bytes = std::fs::metadata(file).map_err(unwritable)?.len();
        if bytes < least {
            let short = format!("ffmpeg wrote {bytes} bytes, and not a video");
            return Err(unwritable(io::Error::new(io::ErrorKind::UnexpectedEof, short)));
        }
        Ok(())
    }

    /// Combines pictures and sound in a file.
    fn with_sound(&self, sound: &Sound) -> Result<TempPath, VideoError> {
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        // It contains the same pictures in the same format, and more.
        let least = std::fs::metadata(&self.pictures).map_err(unwritable)?.len();
        let (_unfinished, whole, _) = temporary_beside(&self.target).map_err(unwritable)?;
        let whole = whole.into_temp_path();
        let mux = |codec: &str| {
            let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
            let end = self.rate.time(self.written) + sound.offset;
            let mut command = quiet();
            command
                .args(["-itsoffset", &seconds(sound.offset), "-i"])
                .arg(url(&self.pictures))
                .args(["-t", &seconds(end), "-i"])
                .arg(url(&sound.file))
                .args(["-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", codec])
                .args(["-f", self.format])
                .arg(url(&whole))
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let child =
                Child::start(FFMPEG, &mut command, &self.output, FfmpegTask::Sound, &self.stop)?;
            child.wait(None)?;
            self.complete(&child, &whole, least)
        };
        match mux("copy") {
            Err(VideoError::Ffmpeg { said, status, .. }) if status.code().is_some() => {
                tracing::info!("encoding the sound again, as AAC: {said}");
                mux("aac")?;
            }
            done => done?,
        }
        Ok(whole)
    }
}

/// Returns an ffmpeg command for writing a file.
fn quiet() -> Command {
    let mut command = FFMPEG.command();
    command.args(["-nostdin", "-hide_banner", "-loglevel", "error", "-y"]);
    command
}
