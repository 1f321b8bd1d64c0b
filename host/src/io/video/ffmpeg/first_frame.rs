//! Finds the time of the first frame that ffmpeg decodes from a file.
//!
//! A file that begins between key frames, such as a recording of a broadcast or a part of a transport stream, states
//! the time of its first packet. The decoder outputs its first frame later: at the first key frame, at the end of an
//! intra refresh, or at the first picture with incomplete references. The choice depends on the codec, so ffmpeg
//! decodes the file up to its first frame.

use std::path::Path;
use std::process::{Command, Stdio};

use super::process::{Child, PROBE_LIMIT, number};
use super::{FFMPEG, ffmpeg};
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// Returns the time in seconds of the first frame of a video, or `None` if ffmpeg decodes no frame or the first frame
/// has no time. `input` adds the file and its options to the command, and `streams` are the indices of the video stream
/// and of further streams to read.
pub(super) fn first_frame(
    path: &Path,
    streams: impl IntoIterator<Item = u32>,
    input: impl FnOnce(&mut Command),
    stop: &Stop,
) -> Result<Option<f64>, VideoError> {
    let mut command = ffmpeg();
    input(&mut command);
    for stream in streams {
        command.arg("-map").arg(format!("0:{stream}"));
    }
    command
        // `print` writes the time to a line of its own, at log level 16 (errors). `-frames:v` also ends other streams.
        .args(["-c:a", "copy", "-vf", "setpts='PTS+0*print(T,16)'", "-frames:v", "1"])
        .args(["-f", "null", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let child = Child::start(FFMPEG, &mut command, path, FfmpegTask::Probing, stop)?;
    let ended = child.wait(Some(PROBE_LIMIT));
    match child.lines().iter().find_map(|line| number(line)).filter(|time| time.is_finite()) {
        Some(time) => Ok(Some(time)),
        None => ended.map(|()| None),
    }
}
