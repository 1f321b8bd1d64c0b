//! What can go wrong with a video that is read or written.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use glam::UVec2;
use thiserror::Error;

use crate::frame::RateError;
use crate::frame::{FrameError, FrameFormat};
use crate::io::picture::{MAX_SIDE, PictureError};

/// Why a video could not be read, stitched or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VideoError {
    /// There is no such program.
    #[error(
        "{}: {program} is needed and not found; install it (apt install ffmpeg) or name it in {variable}; Y4M, raw frames and picture sequences need none", file.display()
    )]
    NoFfmpeg {
        /// The video.
        file: PathBuf,
        /// The program.
        program: String,
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// The program cannot be started.
    #[error("{}: {program} cannot be started: {source}", file.display())]
    Start {
        /// The video.
        file: PathBuf,
        /// The program.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// ffmpeg ended with an error, or was ended.
    #[error("{}: ffmpeg failed while {work}, {status}{}", file.display(), quote(said))]
    Ffmpeg {
        /// The video.
        file: PathBuf,
        /// What it was to do.
        work: FfmpegTask,
        /// How it ended.
        status: ExitStatus,
        /// Its last words.
        said: String,
    },
    /// ffmpeg did not end, and was killed.
    #[error("{}: ffmpeg did not end while {work}, and was stopped after {} s{}", file.display(), limit.as_secs_f64(), quote(said))]
    Hung {
        /// The video.
        file: PathBuf,
        /// What it was to do.
        work: FfmpegTask,
        /// How long it was waited for.
        limit: Duration,
        /// Its last words.
        said: String,
    },
    /// ffmpeg has no encoder for what is to be written.
    #[error(
        "{}: this ffmpeg has no encoder {encoder}; install one that has (Debian's does), or write .y4m", file.display()
    )]
    NoEncoder {
        /// The video.
        file: PathBuf,
        /// ffmpeg's name of the encoder.
        encoder: &'static str,
    },
    /// The file is no video that ffmpeg knows.
    #[error("{}: not a video that ffmpeg can read{}", file.display(), quote(said))]
    NotVideo {
        /// The file.
        file: PathBuf,
        /// ffprobe's last words.
        said: String,
    },
    /// Timestamps that cannot be right.
    #[error("{}: its timestamps jump by {seconds:.0} s from one frame to the next, and at most {most} s are filled; stitch the parts before and after by themselves, or mend the timestamps", file.display())]
    Jump {
        /// The video.
        file: PathBuf,
        /// The jump, back if negative.
        seconds: f64,
        /// The longest that is filled, in seconds.
        most: u32,
    },
    /// The file has sound or data, but no pictures.
    #[error("{}: has no video in it", file.display())]
    NoVideoStream {
        /// The file.
        file: PathBuf,
    },
    /// The file is not there, may not be read, or reading failed.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A pipe or a folder where ffmpeg needs a file.
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
        /// What the operating system said.
        source: io::Error,
    },
    /// A Y4M file that breaks the rules of the format, or has pixels that are not read.
    #[error("{}: not Y4M that can be read: {reason}", file.display())]
    Y4m {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The input ends within a frame.
    #[error("{}: truncated: frame {frame} has {found} of {expected} bytes", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// Which frame, from 0.
        frame: u64,
        /// Bytes there.
        found: usize,
        /// Bytes of a frame.
        expected: usize,
    },
    /// The input has no frame at all.
    #[error("{}: no frames", file.display())]
    NoFrames {
        /// The file.
        file: PathBuf,
    },
    /// A picture is missing between others.
    #[error("{}: missing, but the pictures go on to {}", missing.display(), last.display())]
    Gap {
        /// The first that is missing.
        missing: PathBuf,
        /// The last that is there.
        last: PathBuf,
    },
    /// A picture of another size than the first.
    #[error("{}: {}×{} pixels, but the first picture has {}×{}", file.display(), found.x, found.y, expected.x, expected.y)]
    Changed {
        /// The picture.
        file: PathBuf,
        /// Its size.
        found: UVec2,
        /// The first one's.
        expected: UVec2,
    },
    /// Frames that cannot be.
    #[error("{}: {source}", file.display())]
    Frame {
        /// The video.
        file: PathBuf,
        /// What is wrong.
        source: FrameError,
    },
    /// Frames that no camera has.
    #[error("{}: frames of {}×{} pixels; those of a camera have 1 to {MAX_SIDE} a side", file.display(), size.x, size.y)]
    SourceSize {
        /// The video.
        file: PathBuf,
        /// What it says.
        size: UVec2,
    },
    /// A frame that is not what its source says.
    #[error("pairing frames: {0}")]
    Pair(#[from] FrameError),
    /// A video cannot be delivered in the other one's format.
    #[error("{}: {found}, but the other video is {expected}; convert one of them", file.display())]
    Formats {
        /// The video.
        file: PathBuf,
        /// Its format.
        found: FrameFormat,
        /// The other one's.
        expected: FrameFormat,
    },
    /// Raw frames whose size is not known.
    #[error("{}: raw frames do not say their size; give --input-size WxH", file.display())]
    NoSize {
        /// The video.
        file: PathBuf,
    },
    /// A video that does not say how fast it is.
    #[error("{}: frames a second are unknown; give --fps, a number such as 30 or 30000/1001", file.display())]
    NoRate {
        /// The video.
        file: PathBuf,
    },
    /// A rate that is none.
    #[error("{}: {text} frames a second: {source}", file.display())]
    Rate {
        /// The video.
        file: PathBuf,
        /// What it says.
        text: String,
        /// What a rate is.
        source: RateError,
    },
    /// A name that says raw frames, but not which.
    #[error(
        "{}: say what the frames are: --input-format or --output-format nv12 or rgba", file.display()
    )]
    Raw {
        /// The file.
        file: PathBuf,
    },
    /// A name that no writer knows.
    #[error(
        "{}: cannot be written: the name must end in .mp4, .m4v, .mov, .mkv, .y4m, .nv12 or .rgba, or be a pattern such as frame_%04d.png", file.display()
    )]
    Extension {
        /// The file.
        file: PathBuf,
    },
    /// A panorama that the encoder cannot take.
    #[error("{}: a panorama of {}×{} pixels cannot be encoded; sides are at least 2", file.display(), size.x, size.y)]
    TooSmall {
        /// The file.
        file: PathBuf,
        /// The panorama's size.
        size: UVec2,
    },
    /// A picture of a sequence.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// An end was asked for before anybody read a pipe.
    #[error("{}: nobody has read it", file.display())]
    NoReader {
        /// The pipe.
        file: PathBuf,
    },
    /// The operating system gives no thread.
    #[error("a thread could not be started: {0}; is there a limit on processes or memory?")]
    Thread(io::Error),
}

/// What ffmpeg is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FfmpegTask {
    /// Finding out what a file holds.
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
    /// Whether it is the output that failed, and not an input.
    #[must_use]
    pub fn is_of_output(&self) -> bool {
        match self {
            Self::Unwritable { .. }
            | Self::NoEncoder { .. }
            | Self::Extension { .. }
            | Self::NoReader { .. }
            | Self::TooSmall { .. } => true,
            Self::Ffmpeg { work, .. } | Self::Hung { work, .. } => {
                matches!(work, FfmpegTask::Encoding | FfmpegTask::Sound)
            }
            _ => false,
        }
    }
}

/// What a child said, as the end of a sentence.
fn quote(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}
