//! Finds the first key frame of a file that begins between key frames, such as a recording of a broadcast or a part of
//! a transport stream.
//!
//! The file states the time of its first packet, but decoders begin at the first key frame.

use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;

use super::probe::{MAX_ANSWER, PROBE_LIMIT, Probe, seconds};
use super::process::{Child, EXIT_LIMIT};
use super::{FFPROBE, input};
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

impl Probe {
    /// Returns the properties of the part of the video that begins with the first key frame. Logs a warning if this
    /// part is shorter. Returns the properties of the whole video if no key frame is found.
    pub(super) fn starting_at_key_frame(
        mut self,
        path: &Path,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let key_frame = self.first_key_frame(path, stop)?;
        let late = key_frame.zip(self.start).map(|(key_frame, start)| key_frame - start);
        let Some(late) = late.filter(|late| *late > 0.0).and_then(seconds) else {
            return Ok(self);
        };
        if let Some(sound) = &mut self.sound {
            sound.offset += late;
        }
        self.duration = self.duration.map(|duration| duration.saturating_sub(late));
        tracing::warn!(
            "{}: the first {:.2} s of the video cannot be decoded, because the file begins between key frames",
            path.display(),
            late.as_secs_f64()
        );
        Ok(self)
    }

    /// Returns the time of the first key frame in seconds.
    fn first_key_frame(&self, path: &Path, stop: &Stop) -> Result<Option<f64>, VideoError> {
        let mut command = FFPROBE.command();
        command
            .args(["-hide_banner", "-loglevel", "error", "-select_streams"])
            .arg(self.index.to_string())
            .args(["-show_entries", "packet=pts_time,flags", "-read_intervals", SEARCHED])
            .args(["-of", "json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        input(&mut command, path, self.max_pixels);
        let child = Child::start(FFPROBE, &mut command, path, FfmpegTask::Probing, stop)?;
        let answer = child.answer(MAX_ANSWER, PROBE_LIMIT)?;
        // A long answer is incomplete, and ffprobe waits for somebody to read the rest.
        child.kill();
        let _ = child.wait(Some(EXIT_LIMIT));
        let packets =
            serde_json::from_slice(&answer).map_or(Vec::new(), |Answer { packets }| packets);
        let mut key_frames = packets.iter().filter(|packet| packet.is_key_frame());
        Ok(key_frames.find_map(|packet| packet.pts_time.as_deref()?.parse().ok()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use panoweave_tests::skip::{Need, skip};

    use super::super::{FFMPEG, probe};
    use super::*;
    use crate::io::video::VideoLimits;

    /// The size of a transport packet in bytes.
    const PACKET: usize = 188;

    #[test]
    fn the_sound_begins_relative_to_the_first_key_frame() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ts");
        let mut command = FFMPEG.command();
        let input = "-v error -f lavfi -i testsrc2=s=64x48:r=25 -f lavfi -i sine -t 6";
        let output = "-c:v libx264 -g 50 -bf 2 -sc_threshold 0 -pix_fmt yuv420p -c:a aac";
        command.args(input.split(' ')).args(output.split(' ')).arg(&path);
        match command.status() {
            Ok(status) => assert!(status.success()),
            Err(error) => return skip(Need::Ffmpeg, error),
        }
        let stop = Stop::default();
        let read = || probe(&path, &VideoLimits::default(), &stop).unwrap();
        let whole = read();
        assert!(whole.starts_with_key_frame);
        // Remove the first quarter, so that the next key frame is the second one, at 2 s.
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[bytes.len() / 4 / PACKET * PACKET..]).unwrap();
        let cut = read();
        assert!(!cut.starts_with_key_frame);
        assert_eq!(
            cut.first_key_frame(&path, &stop).unwrap(),
            whole.start.map(|start| start + 2.0)
        );
        let late = whole.start.zip(cut.start).and_then(|(whole, cut)| seconds(whole + 2.0 - cut));
        let late = late.unwrap();
        assert!(late > Duration::from_millis(100), "{late:?}");
        // The tracks begin at almost the same time.
        let offset = cut.sound.unwrap().offset;
        assert!(
            offset >= late && offset < late + Duration::from_millis(500),
            "{offset:?} {late:?}"
        );
        assert!(cut.duration.unwrap() <= Duration::from_secs(4), "{:?}", cut.duration);
    }
}
