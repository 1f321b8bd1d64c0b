//! Errors of reading and writing videos.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use glam::UVec2;
use thiserror::Error;

use crate::frame::RateError;
use crate::frame::{FrameError, FrameFormat};
use crate::io::picture::{MAX_SIDE, PictureError};

/// A video could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VideoError {
    /// The program is not installed.
    #[error(
        "{}: {program} is needed and not found; install it (apt install ffmpeg) or name it in {variable}; Y4M, raw frames and picture sequences need none", file.display()
    )]
    NoFfmpeg {
        /// The video.
        file: PathBuf,
        /// The program.
        program: String,
        /// The environment variable that names the program.
        variable: &'static str,
    },
    /// The program cannot be started.
    #[error("{}: {program} cannot be started: {source}", file.display())]
    Start {
        /// The video.
        file: PathBuf,
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// ffmpeg failed or was killed.
    #[error("{}: ffmpeg failed while {work}, {status}{}", file.display(), quote(said))]
    Ffmpeg {
        /// The video.
        file: PathBuf,
        /// Its task.
        work: FfmpegTask,
        /// Its exit status.
        status: ExitStatus,
        /// Its last messages.
        said: String,
    },
    /// ffmpeg exceeded its time limit and was killed.
    #[error("{}: ffmpeg did not end while {work} and was killed after {} s{}", file.display(), limit.as_secs_f64(), quote(said))]
    TimedOut {
        /// The video.
        file: PathBuf,
        /// Its task.
        work: FfmpegTask,
        /// The time limit.
        limit: Duration,
        /// Its last messages.
        said: String,
    },
    /// ffmpeg lacks the encoder.
    #[error(
        "{}: this ffmpeg has no encoder {encoder}; install one that has (Debian's does), or write .y4m", file.display()
    )]
    NoEncoder {
        /// The video.
        file: PathBuf,
        /// ffmpeg's name of the encoder.
        encoder: &'static str,
    },
    /// ffmpeg does not recognise the file as a video.
    #[error("{}: not a video that ffmpeg can read{}", file.display(), quote(said))]
    NotVideo {
        /// The file.
        file: PathBuf,
        /// ffprobe's last messages.
        said: String,
    },
    /// The timestamps jump.
    #[error("{}: its timestamps jump by {seconds:.0} s from one frame to the next, and at most {most} s are filled; stitch the parts before and after by themselves, or mend the timestamps", file.display())]
    Jump {
        /// The video.
        file: PathBuf,
        /// The jump; negative if backwards.
        seconds: f64,
        /// The longest gap that is filled, in seconds.
        most: u32,
    },
    /// The file has no pictures.
    #[error("{}: has no video in it", file.display())]
    NoVideoStream {
        /// The file.
        file: PathBuf,
    },
    /// The file is missing or unreadable.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// ffmpeg needs a file, but the path is a pipe or a folder.
    #[error(
        "{}: no regular file; for frames from a pipe say what they are: --input-format y4m, nv12 or rgba", file.display()
    )]
    NotRegular {
        /// The file.
        file: PathBuf,
    },
    /// Writing failed.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The Y4M file is invalid, or its pixel format is not supported.
    #[error("{}: not Y4M that can be read: {reason}", file.display())]
    Y4m {
        /// The file.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The input ends within a frame.
    #[error("{}: truncated: frame {frame} has {found} of {expected} bytes", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// The frame's number, from 0.
        frame: u64,
        /// The number of bytes left.
        found: usize,
        /// The number of bytes of a frame.
        expected: usize,
    },
    /// The input has no frames.
    #[error("{}: no frames", file.display())]
    NoFrames {
        /// The file.
        file: PathBuf,
    },
    /// A picture of a sequence is missing.
    #[error("{}: missing, but the pictures go on to {}", missing.display(), last.display())]
    Gap {
        /// The first missing picture.
        missing: PathBuf,
        /// The last picture that exists.
        last: PathBuf,
    },
    /// A picture's size differs from the first one's.
    #[error("{}: {}×{} pixels, but the first picture has {}×{}", file.display(), found.x, found.y, expected.x, expected.y)]
    Changed {
        /// The picture.
        file: PathBuf,
        /// Its size.
        found: UVec2,
        /// The first picture's size.
        expected: UVec2,
    },
    /// The frames are invalid.
    #[error("{}: {source}", file.display())]
    Frame {
        /// The video.
        file: PathBuf,
        /// The cause.
        source: FrameError,
    },
    /// The frame size is not supported.
    #[error("{}: frames of {}×{} pixels; those of a camera have 1 to {MAX_SIDE} a side", file.display(), size.x, size.y)]
    SourceSize {
        /// The video.
        file: PathBuf,
        /// The frame size.
        size: UVec2,
    },
    /// A frame does not have its source's format.
    #[error("pairing frames: {0}")]
    Pair(#[from] FrameError),
    /// The video cannot be converted to the other one's format.
    #[error("{}: {found}, but the other video is {expected}; convert one of them", file.display())]
    Formats {
        /// The video.
        file: PathBuf,
        /// Its format.
        found: FrameFormat,
        /// The other video's format.
        expected: FrameFormat,
    },
    /// The size of raw frames is unknown.
    #[error("{}: raw frames do not say their size; give --input-size WxH", file.display())]
    NoSize {
        /// The video.
        file: PathBuf,
    },
    /// The frame rate is unknown.
    #[error("{}: frames a second are unknown; give --fps, a number such as 30 or 30000/1001", file.display())]
    NoRate {
        /// The video.
        file: PathBuf,
    },
    /// The frame rate is invalid.
    #[error("{}: {text} frames a second: {source}", file.display())]
    Rate {
        /// The video.
        file: PathBuf,
        /// The text in the file.
        text: String,
        /// The cause.
        source: RateError,
    },
    /// The name tells raw frames, but not their format.
    #[error(
        "{}: say what the frames are: --input-format or --output-format nv12 or rgba", file.display()
    )]
    Raw {
        /// The file.
        file: PathBuf,
    },
    /// No writer supports the name's extension.
    #[error(
        "{}: cannot be written: the name must end in .mp4, .m4v, .mov, .mkv, .y4m, .nv12 or .rgba, or be a pattern such as frame_%04d.png", file.display()
    )]
    Extension {
        /// The file.
        file: PathBuf,
    },
    /// The encoder does not support a panorama this small.
    #[error("{}: a panorama of {}×{} pixels cannot be encoded; sides are at least 2", file.display(), size.x, size.y)]
    TooSmall {
        /// The file.
        file: PathBuf,
        /// The panorama's size.
        size: UVec2,
    },
    /// A picture of a sequence could not be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The command was stopped before a reader opened the pipe.
    #[error("{}: nobody has read it", file.display())]
    NoReader {
        /// The pipe.
        file: PathBuf,
    },
    /// The operating system could not start a thread.
    #[error("a thread could not be started: {0}; is there a limit on processes or memory?")]
    Thread(io::Error),
}

/// A task of ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FfmpegTask {
    /// Examining a file.
    Probing,
    /// Reading a file.
    Decoding,
    /// Writing a file.
    Encoding,
    /// Adding the left video's sound.
    Sound,
}

impl fmt::Display for FfmpegTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probing => "looking at it",
            Self::Decoding => "decoding",
            Self::Encoding => "encoding",
            Self::Sound => "adding the sound",
        })
    }
}

impl VideoError {
    /// Returns whether the output failed rather than an input.
    #[must_use]
    pub fn is_of_output(&self) -> bool {
        match self {
            Self::Unwritable { .. }
            | Self::NoEncoder { .. }
            | Self::Extension { .. }
            | Self::NoReader { .. }
            | Self::TooSmall { .. } => true,
            Self::Ffmpeg { work, .. } | Self::TimedOut { work, .. } => {
                matches!(work, FfmpegTask::Encoding | FfmpegTask::Sound)
            }
            _ => false,
        }
    }
}

/// Formats a child's messages as the end of a sentence.
fn quote(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}
