//! Runs ffmpeg as a child process to read and write videos. This supports all formats of ffmpeg without linking it.
//!
//! The programs are `ffmpeg` and `ffprobe` in `PATH`, or the programs that the environment variables
//! `PANOWEAVE_FFMPEG` and `PANOWEAVE_FFPROBE` name. Version 5.1 or later is required. Frames are passed through pipes
//! as raw NV12 or RGBA. Each child has its own process group, so that Ctrl-C does not reach it. The end of a child's
//! stderr is kept for error messages.

mod decode;
mod encode;
mod probe;
mod process;

use std::ffi::OsString;
use std::path::Path;

pub(super) use decode::Decoder;
pub use encode::Crf;
pub(super) use encode::Encoder;
pub use probe::Sound;
pub(super) use probe::probe;
pub(super) use process::Killer;
use process::{FFMPEG, FFPROBE};

/// Returns `path` as a `file:` URL, so that ffmpeg takes it neither for an option nor for a URL of another protocol.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}
