//! Finds the first key frame of a file that begins between key frames, such as a recording of a broadcast or a part of
//! a transport stream.
//!
//! The file states the time of its first packet, but many decoders begin at the first key frame. A video with intra
//! refresh, whose frames come only after a refresh has completed, or with its first key frame after [`SEARCHED`], keeps the
//! time of its first packet.

use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;

use super::process::{Child, EXIT_LIMIT, MAX_ANSWER, PROBE_LIMIT};
use super::{FFPROBE, MaxPixels, input};
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// The part of the file in which the key frame is searched, in the syntax of ffprobe: its first 30 s.
const SEARCHED: &str = "%+30";

/// A packet of a file, as ffprobe describes it.
#[derive(Deserialize)]
pub(super) struct Packet {
    pub(super) stream_index: Option<u32>,
    pts_time: Option<String>,
    #[serde(default)]
    flags: String,
}

#[derive(Deserialize)]
struct Answer {
    packets: Vec<Packet>,
}

impl Packet {
    pub(super) fn is_key_frame(&self) -> bool {
        self.flags.starts_with('K')
    }
}

/// Returns the time in seconds of the first key frame of the video stream with this index.
pub(super) fn first_key_frame(
    path: &Path,
    index: u32,
    max_pixels: MaxPixels,
    stop: &Stop,
) -> Result<Option<f64>, VideoError> {
    let mut command = FFPROBE.command();
    command
        .args(["-hide_banner", "-loglevel", "error", "-select_streams"])
        .arg(index.to_string())
        .args(["-show_entries", "packet=pts_time,flags", "-read_intervals", SEARCHED])
        .args(["-of", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    input(&mut command, path, max_pixels);
    let child = Child::start(FFPROBE, &mut command, path, FfmpegTask::Probing, stop)?;
    let answer = match child.answer(MAX_ANSWER, PROBE_LIMIT) {
        // The video is readable without this time.
        Err(VideoError::TimedOut { .. }) => return Ok(None),
        answer => answer?,
    };
    // A long answer is incomplete, and ffprobe waits for somebody to read the rest.
    child.kill();
    let _ = child.wait(Some(EXIT_LIMIT));
    let packets = serde_json::from_slice(&answer).map_or(Vec::new(), |Answer { packets }| packets);
    let key_frame = packets.iter().find(|packet| packet.is_key_frame());
    Ok(key_frame.and_then(|packet| packet.pts_time.as_deref()?.parse().ok()))
}
