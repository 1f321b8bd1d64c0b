//! Runs ffmpeg as a child process to read and write videos. This supports all of ffmpeg's formats without linking its
//! libraries.
//!
//! By default, the programs are `ffmpeg` and `ffprobe` in `PATH`. The environment variables `PANOWEAVE_FFMPEG` and
//! `PANOWEAVE_FFPROBE` can name other programs. Version 5.1 or later is required. Pipes carry the frames as raw NV12,
//! P010 or RGBA. Each child has its own process group, so that Ctrl-C in a terminal does not end it before panoweave
//! has written the last frame. `confine` limits what children can do. Error messages quote the end of a child's stderr.

mod confine;
mod decode;
mod encode;
mod first_frame;
mod fragment;
mod output;
mod packets;
mod part;
mod probe;
mod process;
mod sound;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use confine::{MaxPixels, input};
pub(super) use decode::Decoder;
pub use encode::{Crf, TenBit, VideoEncoder};
pub(super) use encode::{Encoding, encodes};
pub(super) use output::Encoder;
pub(super) use packets::{Packets, TransportStream};
pub(super) use probe::{Probe, parse, probe};
pub(super) use process::{EXIT_LIMIT, Killer};
use process::{FFMPEG, FFPROBE, LOG_LEVEL};
pub use sound::Sound;

use crate::frame::{Range, YuvEncoding, YuvMatrix};

/// The longest jump in seconds that ffmpeg keeps as a gap in the timestamps of MPEG-TS and similar formats. ffmpeg's
/// default, 10 s, would remove longer gaps from each stream separately and so shift pictures against sound. `decode`
/// fills gaps of up to `MAX_HOLE` seconds and rejects longer ones. At longer jumps and at jumps back, as in joined
/// recordings, ffmpeg continues without a gap. Timestamps have 33 bits, so a jump back of more than a minute appears as
/// a jump forward of up to 26.5 h.
const LONGEST_GAP: &str = "3600";

/// Returns an ffmpeg command that prints errors and warnings, and keeps gaps of up to [`LONGEST_GAP`].
fn ffmpeg() -> Command {
    let mut command = FFMPEG.command();
    command
        .args(["-nostdin", "-hide_banner", "-loglevel", LOG_LEVEL])
        .args(["-dts_delta_threshold", LONGEST_GAP]);
    command
}

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
    format!(":{side}_color_matrix={matrix}:{side}_range={}", self::range(range))
}

/// Returns ffmpeg's name of a range.
fn range(range: Range) -> &'static str {
    match range {
        Range::Limited => "limited",
        Range::Full => "full",
    }
}
