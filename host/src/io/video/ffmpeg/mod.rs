//! Videos through child processes of ffmpeg: every format that it knows, and no library to link.
//!
//! The programs are `ffmpeg` and `ffprobe` of the path, or those that `PANOWEAVE_FFMPEG` and
//! `PANOWEAVE_FFPROBE` name, 5.1 or later. Frames go through pipes as raw
//! NV12 or RGBA. The children are in a process group of their own, so that Ctrl-C reaches this
//! program alone, and what they say on stderr is kept for the error if they fail.

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

/// A file as ffmpeg is to be told: never an option or a URL, whatever its name.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}
