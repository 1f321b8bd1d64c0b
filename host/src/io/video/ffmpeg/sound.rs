//! Reads the sound of a video file as mono samples, to compare the sounds of several recordings.
//!
//! ffmpeg mixes the channels of the first sound track, resamples them, and fills gaps in the timestamps with silence,
//! so that a sample's number gives its time. Sample 0 is at the time of the first video frame.

use std::process::Stdio;
use std::time::Duration;

use super::probe::Sound;
use super::process::{Child, EXIT_LIMIT};
use super::{FFMPEG, input};
use crate::io::video::stream::fill;
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// The number of bytes that are read at once.
const CHUNK: usize = 1 << 16;

impl Sound {
    /// Reads up to `most` of the sound as mono samples with a full scale of ±1, `rate` per second, from the first
    /// video frame on. Returns `None` if a stop is requested before the end.
    ///
    /// # Errors
    /// Returns [`VideoError`] if ffmpeg cannot be started or cannot decode the sound.
    pub fn samples(
        &self,
        rate: u32,
        most: Duration,
        stop: &Stop,
    ) -> Result<Option<Vec<f32>>, VideoError> {
        let file = self.file.as_path();
        let unreadable = |source| VideoError::Unreadable { file: file.to_owned(), source };
        let child = self.start(rate, self.offset + most, stop)?;
        let mut stdout = child.output()?;
        // The sound before the first video frame.
        let mut before = (self.offset.as_secs_f64() * f64::from(rate)).round() as usize;
        let mut samples = Vec::new();
        let mut bytes = vec![0; CHUNK];
        loop {
            if stop.is_asked() {
                return Ok(None);
            }
            let read = fill(&mut stdout, &mut bytes).map_err(unreadable)?;
            let sample = |bytes: &[u8]| bytes.try_into().map_or(0.0, f32::from_le_bytes);
            let new = bytes[..read].chunks_exact(size_of::<f32>()).map(sample);
            let skipped = before.min(new.len());
            before -= skipped;
            samples.extend(new.skip(skipped));
            if read < bytes.len() {
                break;
            }
        }
        child.wait(Some(EXIT_LIMIT))?;
        Ok(Some(samples))
    }

    /// Starts an ffmpeg process that writes the first `most` of the sound to a pipe.
    fn start(&self, rate: u32, most: Duration, stop: &Stop) -> Result<Child, VideoError> {
        // `first_pts` and `async` fill the time before the first sample and gaps with silence. 1 stands for neither
        // stretching nor squeezing the sound, which would hide the drift of the recorder's clock.
        let filters = format!(
            "aresample={rate}:async=1:first_pts=0,aformat=sample_fmts=flt:channel_layouts=mono"
        );
        let mut command = FFMPEG.command();
        command
            .args(["-nostdin", "-hide_banner", "-loglevel", "error", "-t"])
            .arg(format!("{:.6}", most.as_secs_f64()));
        input(&mut command, &self.file, self.max_pixels);
        command
            .args(["-map", "0:a:0", "-vn", "-af", &filters, "-f", "f32le", "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Child::start(FFMPEG, &mut command, &self.file, FfmpegTask::Listening, stop)
    }
}
