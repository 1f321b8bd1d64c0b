//! Writes encoded files with ffmpeg, and adds the sound of another file.
//!
//! 1. A first ffmpeg process encodes the frames to a temporary file in the folder of the output. The duration
//!    of the video is known only when this process ends.
//! 2. If sound was requested, a second ffmpeg process adds sound of this duration. It copies the sound, or encodes it
//!    as AAC if the container does not support its codec. A single ffmpeg process with `-shortest` would be simpler,
//!    but would cut the video if the sound is shorter.
//! 3. The result is renamed to the output, so that an old file is replaced atomically.
//!
//! ffmpeg up to version 6 returns 0 even if it cannot write the end of the file, for instance on a full disk. Therefore
//! this module also checks the messages of ffmpeg and the length of the file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use glam::UVec2;
use tempfile::TempPath;

use super::encode::{Codec, Encoding, VideoEncoder};
use super::process::{Child, quote};
use super::{FFMPEG, Sound, ffmpeg, url};
use crate::frame::{Frame, Rate};
use crate::io::video::medium::container;
use crate::io::video::stream::write_raw;
use crate::io::video::{FfmpegTask, Stop, VideoError};
use crate::io::{Unfinished, temporary_beside};

/// The text that ffmpeg prints if it cannot write the end of the output file.
const NO_END: &str = "Error writing trailer";

/// The texts that ffmpeg prints if it lacks the encoder, or if the encoder does not start.
const NO_ENCODER: [&str; 2] = ["Unknown encoder", "Error while opening encoder"];

/// An ffmpeg process that writes an encoded file, and the temporary file that it writes.
pub(in crate::io::video) struct Encoder {
    child: Child,
    /// The pipe to ffmpeg, or `None` after the last frame or an error.
    input: Option<ChildStdin>,
    /// The number of frames passed to [`write`](Self::write).
    written: u64,
    rate: Rate,
    /// The path that the caller passed, which error messages name.
    output: PathBuf,
    /// The name of the container in ffmpeg.
    format: &'static str,
    encoder: VideoEncoder,
    /// The temporary file with the encoded frames.
    pictures: TempPath,
    /// The registration of `pictures` in the list of files that are removed if the program ends early.
    _unfinished: Unfinished,
    /// The output path with symbolic links resolved.
    target: PathBuf,
    sound: Option<Sound>,
    stop: Stop,
}

impl Encoder {
    /// Starts an ffmpeg process that encodes frames from a pipe to a temporary file.
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
        let unwritable = |source| VideoError::Unwritable { file: output.to_owned(), source };
        let (unfinished, pictures, target) = temporary_beside(output).map_err(unwritable)?;
        let pictures = pictures.into_temp_path();
        let mut command = overwriting();
        command.arg("-xerror");
        encoding.add(&mut command, format, size, rate);
        command
            .args(["-f", format])
            .arg(url(&pictures))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let child = Child::start(FFMPEG, &mut command, output, FfmpegTask::Encoding, stop)?;
        let input = child.stdin();
        let (output, stop) = (output.to_owned(), stop.clone());
        Ok(Self {
            child,
            input,
            written: 0,
            rate,
            output,
            format,
            encoder,
            pictures,
            _unfinished: unfinished,
            target,
            sound,
            stop,
        })
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
            // Prefer the error of ffmpeg, because its message explains why it stopped reading.
            match self.ended().and_then(|()| FFMPEG.check(&self.output, &self.stop)) {
                Err(error) => error,
                Ok(()) => {
                    let deaf = "ffmpeg ended without an error before it had read all frames";
                    let source = match source.kind() {
                        kind @ io::ErrorKind::BrokenPipe => io::Error::new(kind, deaf),
                        _ => source,
                    };
                    VideoError::Unwritable { file: self.output.clone(), source }
                }
            }
        })
    }

    /// Waits until ffmpeg has encoded all frames, adds the sound, and renames the result to the output.
    pub(in crate::io::video) fn finish(mut self) -> Result<(), VideoError> {
        self.input = None;
        self.ended()?;
        self.complete(&self.child, &self.pictures, 1)?;
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        let whole = match &self.sound {
            Some(sound) => match self.with_sound(sound) {
                Ok(whole) => whole,
                // Write the video without sound instead of discarding the encoded frames.
                Err(error) if !self.stop.is_killed() => {
                    tracing::warn!("the video is written without sound: {error}");
                    self.pictures
                }
                Err(error) => return Err(error),
            },
            None => self.pictures,
        };
        std::fs::File::open(&whole).and_then(|file| file.sync_all()).map_err(unwritable)?;
        whole.persist(&self.target).map_err(|error| unwritable(error.error))
    }

    fn ended(&self) -> Result<(), VideoError> {
        self.child.wait(None).map_err(|error| {
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
        })
    }

    /// Checks that an ffmpeg process that exited with status 0 has written its whole output `file`: ffmpeg must not
    /// have printed [`NO_END`], and the file must have at least `least` bytes.
    fn complete(&self, child: &Child, file: &Path, least: u64) -> Result<(), VideoError> {
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        if child.said().contains(NO_END) {
            return Err(child.failed());
        }
        let bytes = std::fs::metadata(file).map_err(unwritable)?.len();
        if bytes < least {
            let short =
                format!("ffmpeg wrote only {bytes} bytes; a complete video has at least {least}");
            return Err(unwritable(io::Error::new(io::ErrorKind::UnexpectedEof, short)));
        }
        Ok(())
    }

    /// Combines the encoded video and the sound in a new temporary file.
    fn with_sound(&self, sound: &Sound) -> Result<TempPath, VideoError> {
        let unwritable = |source| VideoError::Unwritable { file: self.output.clone(), source };
        // The new file contains the same encoded frames and the sound, so it cannot be shorter than the file without
        // sound.
        let least = std::fs::metadata(&self.pictures).map_err(unwritable)?.len();
        let (_unfinished, whole, _) = temporary_beside(&self.target).map_err(unwritable)?;
        let whole = whole.into_temp_path();
        // The first frame of the output is at its time 0.
        let first = sound.offset(&self.stop)? + sound.start.as_secs_f64();
        let end = format!("{:.6}", self.rate.time(self.written).as_secs_f64());
        let mux = |tracks: &[u32], codec: &str| {
            let mut command = overwriting();
            command.arg("-i").arg(url(&self.pictures));
            sound.input(&mut command, -first);
            command.args(["-map", "0:v"]);
            for track in tracks {
                command.arg("-map").arg(format!("1:{track}"));
            }
            if codec != "copy" {
                // For encoded sound, ffmpeg counts `-t` from the first sample.
                command.args(["-af", &format!("atrim=start=0:end={end}")]);
            }
            command
                .args(["-c:v", "copy", "-c:a", codec, "-t", &end])
                // Omit copied sound before time 0.
                .args(["-copypriorss:a", "0"])
                // ffmpeg would copy the chapters of the whole input, and the container would state their end as its
                // duration.
                .args(["-map_chapters", "-1", "-f", self.format])
                .arg(url(&whole));
            sound.read_tracks(&mut command, 1, &end);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            let child =
                Child::start(FFMPEG, &mut command, &self.output, FfmpegTask::Sound, &self.stop)?;
            child.wait(None)?;
            self.complete(&child, &whole, least)
        };
        let (all, first) = (&sound.tracks[..], &sound.tracks[..1]);
        let attempts = [(all, "copy"), (all, "aac"), (first, "copy"), (first, "aac")];
        let attempts = &attempts[..if all.len() > 1 { 4 } else { 2 }];
        let mut number = 0;
        loop {
            let (tracks, codec) = attempts[number];
            number += 1;
            match mux(tracks, codec) {
                Err(VideoError::Ffmpeg { said, status, .. })
                    if status.code().is_some() && number < attempts.len() =>
                {
                    if codec == "copy" {
                        tracing::info!("the sound cannot be copied ({said}); encoding it as AAC");
                    } else {
                        tracing::warn!(
                            "cannot write the {} sound tracks ({said}); trying only the first one",
                            all.len()
                        );
                    }
                }
                done => return done.map(|()| whole),
            }
        }
    }
}

/// Returns an ffmpeg command that prints only errors and overwrites its output file.
fn overwriting() -> Command {
    let mut command = ffmpeg();
    command.arg("-y");
    command
}
