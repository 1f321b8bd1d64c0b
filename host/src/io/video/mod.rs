//! Reads and writes videos, frame by frame.
//!
//! A video is one of three media ([`Medium`]):
//! - an encoded file, which the child process `ffmpeg` reads or writes, and which NVDEC can decode,
//! - a stream of Y4M or raw frames in a file or a pipe,
//! - a sequence of picture files.
//!
//! [`VideoSource`] reads and [`VideoSink`] writes all three media. The memory use does not depend on the length of a
//! video.

mod constant_rate;
mod error;
mod ffmpeg;
mod frame;
mod limits;
mod medium;
mod nvdec;
#[doc(hidden)]
pub mod parsers;
mod pattern;
mod pictures;
pub(super) mod read_frame;
mod sink;
mod source;
mod stop;
mod stream;
mod y4m;

pub use error::{FfmpegTask, VideoError};
pub use ffmpeg::{Crf, Sound, TenBit, VideoEncoder};
pub use frame::{DecodedFrame, HostFrame, HostPool, VideoFrame};
pub use limits::{VideoLimitError, VideoLimits};
pub use medium::{Medium, STANDARD, StreamFormat};
pub use nvdec::{NoNvdec, NvdecError, VideoDecoder};
pub use pattern::Pattern;
pub use sink::{VideoOutput, VideoSink};
pub use source::{VideoInput, VideoSource};
pub use stop::Stop;
