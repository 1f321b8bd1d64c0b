//! Runs ffmpeg as a child process to read and write videos. This supports all of ffmpeg's formats without linking its
//! libraries.
//!
//! By default, the programs are `ffmpeg` and `ffprobe` in `PATH`. The environment variables `PANOWEAVE_FFMPEG` and
//! `PANOWEAVE_FFPROBE` can name other programs. Version 5.1 or later is required. Pipes carry the frames as raw NV12,
//! P010 or RGBA. Each child has its own process group, so that Ctrl-C in a terminal does not end it before panoweave has
//! written the last frame. `confine` limits what children can do. Error messages quote the end of a child's stderr.

mod confine;
mod decode;
mod encode;
mod key_frame;
mod output;
mod packets;
mod probe;
mod process;
mod sound;

use std::ffi::OsString;
use std::path::Path;

use confine::{MaxPixels, input};
pub(super) use decode::Decoder;
pub use encode::{Crf, TenBit};
pub(super) use encode::{Encoder, encodes, mux};
pub(super) use output::OutputFile;
pub(super) use packets::{Packets, TransportStream};
pub use probe::Sound;
pub(super) use probe::{Probe, parse, probe};
pub(super) use process::{EXIT_LIMIT, Killer};
use process::{FFMPEG, FFPROBE};

use crate::frame::{Range, YuvEncoding, YuvMatrix};

/// Returns `path` as a `file:` URL, so that ffmpeg does not mistake it for an option or for a URL of another protocol.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// Returns the options of the filter `scale` for the encoding of its input (`side` is `in`) or its output (`out`).
fn range_and_matrix(side: &str, YuvEncoding { matrix, range }: YuvEncoding) -> String {
    let matrix = match matrix {
        YuvMatrix::Bt601 => "bt601",
        YuvMatrix::Bt709 => "bt709",
        YuvMatrix::Bt2020 => "bt2020",
    };
    let range = match range {
        Range::Limited => "limited",
        Range::Full => "full",
    };
    format!(":{side}_color_matrix={matrix}:{side}_range={range}")
}
