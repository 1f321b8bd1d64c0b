//! The errors of reading and writing videos.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use glam::UVec2;
use thiserror::Error;

use super::{NoNvdec, NvdecError, VideoLimitError};
use crate::device::DeviceError;
use crate::error::{Classify, Kind};
use crate::frame::{FrameError, FrameFormat, RateError};
use crate::io::picture::PictureError;

/// The error for a video that could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum VideoError {
    /// The video, a program that reads or writes it, or an option does not fit. The text states the remedy.
    #[error("{}: {reason}", file.display())]
    Input { file: PathBuf, reason: String },
    /// The program `ffmpeg` or `ffprobe` cannot be started, or its state cannot be queried.
    #[error("{}: the program {program} cannot be started: {source}; check the program, or set {variable} to the path of another one", file.display())]
    Start { file: PathBuf, program: String, variable: &'static str, source: io::Error },
    /// ffmpeg or ffprobe failed or was killed.
    #[error("{}: ffmpeg failed while {work}, {status}{}{}", file.display(), quote(said), work.remedy())]
    Ffmpeg { file: PathBuf, work: FfmpegTask, status: ExitStatus, said: String },
    /// ffmpeg exceeded its time limit and was killed.
    #[error("{}: ffmpeg did not end within {} s while {work} and was killed{}", file.display(), limit.as_secs_f64(), quote(said))]
    TimedOut { file: PathBuf, work: FfmpegTask, limit: Duration, said: String },
    /// ffmpeg was built without the encoder for the output, or the encoder does not start.
    #[error(
        "{}: cannot encode with {encoder}: {reason}; install an ffmpeg that has this encoder and the hardware or driver that it needs, select another `encoder`, or write a .y4m file", file.display()
    )]
    NoEncoder { file: PathBuf, encoder: &'static str, reason: String },
    /// The medium of the output, or its encoder, stores only 8 bits per sample.
    #[error("{}: cannot store 10 bits; write .mp4, .m4v, .mov or .mkv (not with an encoder of H.264), .y4m or .p010, or write 8 bits", file.display())]
    Depth { file: PathBuf },
    /// ffmpeg does not recognise the file as a video.
    #[error("{}: not a video that ffmpeg can read{}; if the file is incomplete or damaged, copy or create it again", file.display(), quote(said))]
    NotVideo { file: PathBuf, said: String },
    /// The timestamps of two consecutive frames are too far apart.
    #[error("{}: the timestamps jump by {seconds:.0} s between two frames, but gaps must be at most {most} s; split the video at the jump, or repair the timestamps", file.display())]
    Jump { file: PathBuf, seconds: f64, most: u32 },
    /// The aspect ratio of the frames changes within the file.
    #[error("{}: the shape of the frames changes after about {seconds:.1} s; split the file there, for example with ffmpeg -ss and -t, and process the parts one by one", file.display())]
    Shape { file: PathBuf, seconds: f64 },
    /// The thread that reads the video panicked, which is a bug of panoweave.
    #[error("{}: the thread that reads the video panicked; report this with the video", file.display())]
    Panicked { file: PathBuf },
    /// NVDEC was requested, but does not decode the video.
    #[error("{}: NVDEC does not decode this video: {reason}; set `decoder` to auto to let ffmpeg decode it", file.display())]
    NoNvdec { file: PathBuf, reason: Box<NoNvdec> },
    /// NVDEC failed.
    #[error("{}: NVDEC failed: {source}; let ffmpeg decode the video (`decoder` ffmpeg)", file.display())]
    Nvdec { file: PathBuf, source: Box<NvdecError> },
    /// A frame could not be copied from the device.
    #[error("{}: cannot copy a frame from the device: {source}", file.display())]
    Download { file: PathBuf, source: Box<DeviceError> },
    /// The file is missing or unreadable.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The video cannot be written.
    #[error("{}: cannot be written: {source}{}", file.display(), more_space(source))]
    Unwritable { file: PathBuf, source: io::Error },
    /// The Y4M file is invalid, or its pixel format is not supported.
    #[error("{}: invalid or unsupported Y4M: {reason}", file.display())]
    Y4m { file: PathBuf, reason: String },
    /// The input ends in the middle of a frame.
    #[error("{}: truncated: frame {frame} has only {found} of {expected} bytes; check the size and the pixel format, or create the video again", file.display())]
    Truncated { file: PathBuf, frame: u64, found: usize, expected: usize },
    /// The input has no frames.
    #[error("{}: no frames; use a video or picture sequence with at least one frame", file.display())]
    NoFrames { file: PathBuf },
    /// A picture in the middle of a sequence is missing.
    #[error("{}: this picture is missing, but the sequence continues up to {}; add the picture, or number the others without a gap", missing.display(), last.display())]
    Gap { missing: PathBuf, last: PathBuf },
    /// The size of the panorama is not supported.
    #[error("{}: {source}", file.display())]
    Frame { file: PathBuf, source: FrameError },
    /// The video exceeds a limit of [`VideoLimits`](super::VideoLimits).
    #[error("{}: {source}", file.display())]
    Limit { file: PathBuf, source: VideoLimitError },
    /// The bytes of a frame do not fit the format of its video.
    #[error("cannot pair the frames of the two videos: {0}")]
    Pair(#[from] FrameError),
    /// A frame does not have the size or the pixel format of the video to which it is written.
    #[error("{}: a frame of {found} cannot be written to a video of {expected}; stitch to the format of the video", file.display())]
    FrameFormat { file: PathBuf, found: FrameFormat, expected: FrameFormat },
    /// The frames of two videos that are stitched have different numbers of bits per sample.
    #[error("{}: the frames have {found} bits per sample, but those of {} have {expected}; Y4M and raw videos are not converted, so convert one of them with ffmpeg", file.display(), first.display())]
    InputDepths { file: PathBuf, found: u8, first: PathBuf, expected: u8 },
    /// The output has another number of bits per sample than the frames of the inputs.
    #[error("{}: the output has {bits} bits per sample, but the frames of {} have {found}; {}", file.display(), input.display(), other_output(*bits))]
    OutputDepth { file: PathBuf, bits: u8, input: PathBuf, found: u8 },
    /// The frame rate is invalid.
    #[error("{}: invalid frame rate {text}: {source}", file.display())]
    Rate { file: PathBuf, text: String, source: RateError },
    /// The file extension stands for raw frames, but does not determine their pixel format.
    #[error(
        "{}: the pixel format of the raw frames is unknown; set `input-format` of an input or `output-format` of the output, for instance to nv12", file.display()
    )]
    Raw { file: PathBuf },
    /// The extension of the output file is not supported.
    #[error(
        "{}: cannot be written: the name must end in .mp4, .m4v, .mov, .mkv, .y4m or the pixel format of raw frames such as .nv12, or be a pattern such as frame_%04d.png; for the picture of one moment, set `at`", file.display()
    )]
    Extension { file: PathBuf },
    /// The panorama is too small for the encoder.
    #[error("{}: the panorama is {}×{} pixels; each side must be at least 2 pixels for encoding", file.display(), size.x, size.y)]
    TooSmall { file: PathBuf, size: UVec2 },
    /// The panorama is too large for the encoder.
    #[error("{}: the panorama is {}×{} pixels, which ffmpeg does not encode; give a smaller size of at most about 16,000×16,000 pixels, or write .y4m, .rgba or pictures", file.display(), size.x, size.y)]
    TooLarge { file: PathBuf, size: UVec2 },
    /// A picture of a sequence could not be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The job was stopped before another program opened the output pipe for reading.
    #[error("{}: no program opened the pipe for reading; start a program that reads it", file.display())]
    NoReader { file: PathBuf },
    /// The job was stopped before a program wrote the first data to an input pipe.
    #[error("{}: no program wrote frames to the pipe before the stop; start a program that writes it", file.display())]
    NoWriter { file: PathBuf },
    /// The operating system could not start a thread.
    #[error("cannot start a thread: {0}; check the limits on processes and memory")]
    Thread(io::Error),
}

/// The task of an `ffmpeg` or `ffprobe` process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FfmpegTask {
    /// Reading the properties of an input video.
    Probing,
    /// Decoding the frames of an input video.
    Decoding,
    /// Splitting an input video into encoded pictures.
    Demuxing,
    /// Reading the sound of an input video.
    Listening,
    /// Encoding the panorama's frames to the output video.
    Encoding,
    /// Reading the sound of an input video for the output video.
    Sound,
    /// Copying the encoded frames and the sound to the output video.
    Copying,
}

impl fmt::Display for FfmpegTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probing => "probing",
            Self::Decoding => "decoding",
            Self::Demuxing => "demuxing",
            Self::Listening => "reading the sound",
            Self::Encoding => "encoding",
            Self::Sound => "adding the sound",
            Self::Copying => "completing the file",
        })
    }
}

impl FfmpegTask {
    /// Returns the end of the message of a task that failed: the remedy, if an input file is a likely cause.
    fn remedy(self) -> &'static str {
        match self {
            Self::Demuxing => {
                "; if the file is incomplete or damaged, copy or create it again; otherwise, set `decoder` to ffmpeg"
            }
            Self::Probing | Self::Decoding | Self::Listening => {
                "; if the file is incomplete or damaged, copy or create it again"
            }
            Self::Encoding | Self::Sound | Self::Copying => "",
        }
    }
}

impl VideoError {
    pub(crate) fn input(file: &Path, reason: impl Into<String>) -> Self {
        Self::Input { file: file.to_owned(), reason: reason.into() }
    }
}

impl Classify for VideoError {
    fn kind(&self) -> Kind {
        match self {
            Self::Download { source, .. } => source.kind(),
            Self::Nvdec { source, .. } => match &**source {
                NvdecError::Device(error) => error.kind(),
                _ => Kind::Input,
            },
            Self::Picture(error) => error.kind(),
            Self::Thread(_) => Kind::Device,
            Self::Unwritable { .. }
            | Self::NoEncoder { .. }
            | Self::Extension { .. }
            | Self::NoReader { .. }
            | Self::OutputDepth { .. }
            | Self::TooSmall { .. }
            | Self::TooLarge { .. } => Kind::Output,
            Self::Ffmpeg { work, .. } | Self::TimedOut { work, .. } if work.remedy().is_empty() => {
                Kind::Output
            }
            _ => Kind::Input,
        }
    }
}

/// Returns the remedy for an output of `bits` bits per sample whose inputs have another number of bits.
fn other_output(bits: u8) -> &'static str {
    if bits > 8 {
        "write 8 bits (.mp4, .m4v, .mov, .mkv, .y4m, .nv12, .rgba or pictures), or convert the inputs to 10 bits with ffmpeg"
    } else {
        "write 10 bits (.mp4, .m4v, .mov, .mkv, .y4m or .p010, without `depth` 8 or an `encoder` of H.264), or convert the inputs to 8 bits with ffmpeg"
    }
}

/// Returns the remedy for an output that has no room.
fn more_space(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "; free space, or write to another disk"
        }
        _ => "",
    }
}

/// Formats the last messages of a child process as the end of an error message.
pub(super) fn quote(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}
