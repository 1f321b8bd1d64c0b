//! Writes encoded files with ffmpeg, with the sound of another file.
//!
//! ```text
//! file ─▶ ffmpeg: sound ─pipe─┐
//! frames ────────────────pipe─┴▶ ffmpeg: encoder ─pipe▶ part file ─▶ ffmpeg: remux ─▶ temporary file ─▶ output
//! ```
//!
//! The part file consists of fragments ([`Part`]). After the last frame, when the sound has passed the video, the process
//! that reads the sound is killed. Then the part file is copied to a file without fragments, in which players seek
//! faster, and the sound is cut at the end of the video. `-shortest` would also cut the video if the sound is shorter.
//!
//! ffmpeg up to version 6 returns 0 even if it cannot write the end of the file, for instance on a full disk. Therefore
//! this module also checks the messages of ffmpeg.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use glam::UVec2;
use rustix::io::{FdFlags, fcntl_setfd};

use super::encode::{Codec, Encoding, VideoEncoder};
use super::fragment::Container;
use super::part::Part;
use super::process::{Child, quote};
use super::sound::pipe_format;
use super::{FFMPEG, Sound, ffmpeg, url};
use crate::frame::{Frame, Rate};
use crate::io::video::medium::container;
use crate::io::video::stream::write_raw;
use crate::io::video::{FfmpegTask, Stop, VideoError};
use crate::io::{Target, temporary_beside};

/// The text that ffmpeg prints if it cannot write the end of the output file.
const NO_END: &str = "Error writing trailer";

/// The texts that ffmpeg prints if it lacks the encoder, or if the encoder does not start.
const NO_ENCODER: [&str; 2] = ["Unknown encoder", "Error while opening encoder"];

/// An ffmpeg process that encodes frames, and the file that receives them.
pub(in crate::io::video) struct Encoder {
    /// The pipe to ffmpeg, or `None` after the last frame or an error.
    input: Option<ChildStdin>,
    child: Child,
    /// The file with the encoded frames. It waits for the end of `child`, which is dropped first.
    part: Part,
    /// The number of frames passed to [`write`](Self::write).
    written: u64,
    /// The number of all frames, or `u64::MAX` until it is known.
    total: Arc<AtomicU64>,
    rate: Rate,
    /// The path that the caller passed, which error messages name.
    output: PathBuf,
    /// The name of the container in ffmpeg.
    format: &'static str,
    encoder: VideoEncoder,
    stop: Stop,
}

impl Encoder {
    /// Starts an ffmpeg process that encodes frames from a pipe to a part file.
    pub(in crate::io::video) fn start(
        output: &Path,
        size: UVec2,
        rate: Rate,
        encoding: Encoding,
        sound: Option<Sound>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let format =
            container(output).ok_or_else(|| VideoError::Extension { file: output.to_owned() })?;
        let encoder = encoding.encoder();
        if encoder.codec == Codec::Av1 && format == "mov" {
            let (file, encoder) = (output.to_owned(), encoder.name());
            let reason = "AV1 is not stored in .mov files".into();
            return Err(VideoError::NoEncoder { file, encoder, reason });
        }
        let unwritable = |source| unwritable(output, source);
        let mut part = Target::new(output)
            .and_then(|target| Part::create(&target, rate))
            .map_err(unwritable)?;
        let sound = sound.and_then(|sound| {
            // A video without sound is better than none.
            let unheard = |error| tracing::warn!("the video is written without sound: {error}");
            sound.record(output, format, stop).map_err(unheard).ok()
        });
        let mut command = ffmpeg();
        encoding.input(&mut command, size, rate);
        if let Some((sound, _)) = &sound {
            add_sound(&mut command, pipe_format(format), sound.output()?.into());
        }
        // The video is the first track of the output.
        command.args(["-map", "0:v"]);
        command.args(sound.iter().flat_map(|(_, codec)| ["-map", "1", "-c:a", codec]));
        encoding.output(&mut command, format, rate);
        command
            // Write the video at once if the sound has a gap.
            .args(["-max_interleave_delta", "250000", "-flush_packets", "1", "-f", format])
            .args(Container::named(format).options())
            .arg("pipe:1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let child = Child::start(FFMPEG, &mut command, output, FfmpegTask::Encoding, stop)?;
        let (input, total) = (child.stdin(), Arc::new(AtomicU64::new(u64::MAX)));
        let watch = end_sound(sound.map(|(sound, _)| sound), Arc::clone(&total));
        part.record(Container::named(format), child.output()?, watch).map_err(unwritable)?;
        let (output, stop) = (output.to_owned(), stop.clone());
        Ok(Self { input, child, part, written: 0, total, rate, output, format, encoder, stop })
    }

    /// Passes a frame to ffmpeg.
    pub(in crate::io::video) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let written = match &mut self.input {
            Some(input) => write_raw(input, frame),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.written += 1;
        written.map_err(|source| {
            self.input = None;
            // Prefer the error of ffmpeg or of the disk, because it explains why ffmpeg stopped reading.
            match self.ended().and_then(|_| FFMPEG.check(&self.output, &self.stop)) {
                Err(error) => error,
                Ok(()) => {
                    let deaf = "ffmpeg ended without an error before it had read all frames";
                    let source = match source.kind() {
                        kind @ io::ErrorKind::BrokenPipe => io::Error::new(kind, deaf),
                        _ => source,
                    };
                    unwritable(&self.output, source)
                }
            }
        })
    }

    /// Waits until ffmpeg has encoded all frames, and replaces the output.
    pub(in crate::io::video) fn finish(mut self) -> Result<(), VideoError> {
        self.total.store(self.written, Ordering::Relaxed);
        self.input = None;
        let frames = self.ended()?;
        let unwritable = |source| unwritable(&self.output, source);
        if frames < self.written {
            let short = format!("ffmpeg wrote only {frames} of {} frames", self.written);
            return Err(unwritable(io::Error::new(io::ErrorKind::UnexpectedEof, short)));
        }
        match self.remux() {
            Ok(()) => self.part.remove(),
            Err(error) if self.stop.is_killed() => return Err(error),
            // Fragments are better than no video, for instance if the disk has no room for a second file.
            Err(error) => {
                tracing::warn!(
                    "the video stays in fragments, in which some players seek slowly: {error}"
                );
                let target = Target::new(&self.output).map_err(unwritable)?;
                self.part.rename(&target.path).map_err(unwritable)?;
            }
        }
        Ok(())
    }

    /// Waits until ffmpeg has ended. Returns the number of frames in the part file.
    fn ended(&mut self) -> Result<u64, VideoError> {
        let ended = self.child.wait(None);
        // ffmpeg fails if the part file cannot be written.
        let frames = self.part.end().map_err(|source| unwritable(&self.output, source))?;
        ended.map_err(|error| {
            // An exit code means that ffmpeg was not killed.
            if !matches!(&error, VideoError::Ffmpeg { status, .. } if status.code().is_some()) {
                return error;
            }
            let lines = self.child.lines();
            let is_of_encoder = |line: &String| NO_ENCODER.iter().any(|text| line.contains(text));
            match lines.iter().position(is_of_encoder) {
                Some(last) => VideoError::NoEncoder {
                    file: self.output.clone(),
                    encoder: self.encoder.name(),
                    // Later lines report the consequences.
                    reason: quote(&lines[..=last]),
                },
                None => FFMPEG.check(&self.output, &self.stop).err().unwrap_or(error),
            }
        })?;
        Ok(frames)
    }

    /// Copies the part file to a file without fragments, which replaces the output.
    fn remux(&self) -> Result<(), VideoError> {
        let unwritable = |source| unwritable(&self.output, source);
        let (_unfinished, whole, target) = temporary_beside(&self.output).map_err(unwritable)?;
        let end = format!("{:.6}", self.rate.time(self.written).as_secs_f64());
        let mut command = ffmpeg();
        command.arg("-y").arg("-i").arg(url(self.part.path()));
        command.args(["-map", "0", "-c", "copy", "-t", &end, "-f", self.format]);
        if Container::named(self.format) == Container::Mp4 {
            // The index comes first, so that the file plays while it is downloaded.
            command.args(["-movflags", "+faststart"]);
        }
        command.arg(url(whole.path())).stdin(Stdio::null()).stdout(Stdio::null());
        let work = FfmpegTask::Copying;
        let child = Child::start(FFMPEG, &mut command, &self.output, work, &self.stop)?;
        child.wait(None)?;
        if child.said().contains(NO_END)
            || whole.as_file().metadata().map_err(unwritable)?.len() == 0
        {
            return Err(child.failed());
        }
        whole.as_file().sync_all().map_err(unwritable)?;
        whole.persist(&target).map(drop).map_err(|error| unwritable(error.error))
    }
}

fn unwritable(output: &Path, source: io::Error) -> VideoError {
    VideoError::Unwritable { file: output.to_owned(), source }
}

/// Adds a pipe with sound in a format to the inputs of a command, which inherits it.
fn add_sound(command: &mut Command, format: &str, sound: OwnedFd) {
    command
        // The header of the pipe states all that is needed. Keep the times, also of the first sound.
        .args(["-copyts", "-probesize", "32", "-analyzeduration", "0", "-f", format])
        .args(["-i", &format!("pipe:{}", sound.as_raw_fd())]);
    // SAFETY: the closure only makes a system call.
    unsafe { command.pre_exec(move || Ok(fcntl_setfd(&sound, FdFlags::empty())?)) };
}

/// Returns a function that ends the process that reads the sound. It is called after each fragment with the number of
/// frames in the file and in the fragment. After the last one of `total` frames, ffmpeg continues to write sound; older
/// versions encode the last frames only after the end of the sound.
fn end_sound(mut sound: Option<Child>, total: Arc<AtomicU64>) -> impl FnMut(u64, u64) {
    move |frames, added| {
        let total = total.load(Ordering::Relaxed);
        if total < u64::MAX
            && (frames >= total || added == 0)
            && let Some(sound) = sound.take()
            && let Err(error @ VideoError::Ffmpeg { .. }) = sound.wait(Some(Duration::ZERO))
        {
            tracing::warn!("the sound of the video is not complete: {error}");
        }
    }
}
