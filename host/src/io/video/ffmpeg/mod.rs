//! Videos through ffmpeg as a child process: all its formats, without linking a library.
//!
//! The programs are `ffmpeg` and `ffprobe` on the path, or those that `PANOWEAVE_FFMPEG` and `PANOWEAVE_FFPROBE` name,
//! version 5.1 or later. Frames go through pipes as raw NV12 or RGBA. The children have a process group of their own,
//! so Ctrl-C reaches only this program. Their stderr is kept for the error message.

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

/// Returns a file as an argument that ffmpeg never takes for an option or a URL.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}
