//! The sound of a video file: its time relative to the frames, and its mono samples, from which `video::sound` finds
//! the time offsets of several recordings.
//!
//! The time of the first frame is the one that ffmpeg decodes, because the file may begin between key frames. ffmpeg
//! counts times from the start of the file or, in formats such as MPEG-TS and FLV, from the start of the tracks that it
//! reads, unless it adds an offset to all times. Therefore each command reads the same tracks with an offset, and all count
//! from the same time.
//!
//! For the samples, ffmpeg mixes the channels of the first sound track, resamples them, and fills gaps in the
//! timestamps with silence, so that a sample's number gives its time. Sample 0 is at the time of the first video frame.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::first_frame::first_frame;
use super::fragment::Container;
use super::process::{Child, EXIT_LIMIT, PROBE_LIMIT, number};
use super::{FFMPEG, MaxPixels, ffmpeg, input};
use crate::io::video::stream::fill;
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// The offset in seconds that ffmpeg adds to times while they are measured.
const SHIFT: f64 = 1.0;

/// The number of bytes that are read at once. It is small, so that the time of the first sample is read from stderr
/// before later messages push it out.
const CHUNK: usize = 1 << 12;

/// The sound of an input video, which can be added to an output video.
#[derive(Clone, Debug, PartialEq)]
pub struct Sound {
    /// The file of the input video.
    pub file: PathBuf,
    /// The index of the video stream in the file.
    pub(super) video: u32,
    /// The indices of the sound tracks in the file: at least one.
    pub(super) tracks: Vec<u32>,
    /// The time from the input video's first frame to the output video's first frame. The output omits the sound of
    /// this time.
    pub(super) start: Duration,
    pub(super) max_pixels: MaxPixels,
}

impl Sound {
    /// Returns the sound for an output video that begins `start` after the input video.
    #[must_use]
    pub fn starting_at(self, start: Duration) -> Self {
        Self { start, ..self }
    }

    /// Adds the file to the inputs of a command. ffmpeg adds `offset` to its times in seconds.
    fn input(&self, command: &mut Command, offset: f64) {
        command.args(["-itsoffset", &format!("{offset:.6}")]);
        input(command, &self.file, self.max_pixels);
    }

    /// Returns the indices of the video stream and of all sound tracks.
    fn streams(&self) -> impl Iterator<Item = u32> {
        [self.video].into_iter().chain(self.tracks.iter().copied())
    }

    /// Adds an output that discards the video and all sound tracks of the input. ffmpeg then reads the same streams as in
    /// [`offset`](Self::offset), so both count from the same time. Call this after the options of the last output.
    fn read_tracks(&self, command: &mut Command) {
        for stream in self.streams() {
            command.arg("-map").arg(format!("0:{stream}"));
        }
        command.args(["-c", "copy", "-f", "null", "-"]);
    }

    /// Returns the time of the first video frame in seconds, without the offset of the input. It is valid only for
    /// commands that add an offset other than 0; see the module documentation.
    ///
    /// # Errors
    /// Returns [`VideoError::NoFrames`] if the video has no frame with a time, and other errors if ffmpeg cannot be
    /// started or exceeds its time limit.
    fn offset(&self, stop: &Stop) -> Result<f64, VideoError> {
        let input = |command: &mut Command| self.input(command, SHIFT);
        let first = first_frame(&self.file, self.streams(), input, stop)?;
        let first = first.ok_or_else(|| VideoError::NoFrames { file: self.file.clone() })?;
        Ok(first - SHIFT)
    }

    /// Starts an ffmpeg process that writes the sound to a pipe in the [`pipe_format`], without an end. Its time 0 is that
    /// of the output's first frame. Also returns ffmpeg's name of the codec for the output: `copy`, or `aac` if a
    /// container with the name `format` cannot store the sound, which then is samples. Omits all tracks but the first if
    /// the container cannot store several.
    ///
    /// # Errors
    /// Returns [`VideoError`], which names the file `output`, if the container can store no sound of the video.
    pub(super) fn record(
        &self,
        output: &Path,
        format: &str,
        stop: &Stop,
    ) -> Result<(Child, &'static str), VideoError> {
        let first = self.offset(stop)? + self.start.as_secs_f64();
        let begin = || {
            let mut command = ffmpeg();
            command.arg("-y").stdin(Stdio::null()).stdout(Stdio::piped());
            self.input(&mut command, -first);
            command
        };
        let start =
            |command: &mut Command| Child::start(FFMPEG, command, output, FfmpegTask::Sound, stop);
        // A short part of the sound shows whether it can be stored.
        let attempt = |tracks: &[u32], (codec, in_pipe): (&str, &str)| {
            let mut command = begin();
            add_tracks(&mut command, tracks, codec);
            command.args(["-t", "0.1", "-f", format]).args(Container::named(format).options());
            add_tracks(command.arg("-"), tracks, in_pipe);
            command.args(["-t", "0.1", "-f", pipe_format(format), "/dev/null"]);
            let child = start(&mut command)?;
            let written = child.answer(u64::MAX, PROBE_LIMIT)?;
            child.wait(Some(EXIT_LIMIT))?;
            if written.is_empty() { Err(child.failed()) } else { Ok(()) }
        };
        let (all, one) = (&self.tracks[..], &self.tracks[..1]);
        let (copy, encode) = (("copy", "copy"), ("aac", "pcm_s16le"));
        let attempts = [(all, copy), (all, encode), (one, copy), (one, encode)];
        let last = if all.len() > 1 { 3 } else { 1 };
        let mut number = 0;
        let (tracks, (codec, in_pipe)) = loop {
            let (tracks, codecs) = attempts[number];
            match attempt(tracks, codecs) {
                Ok(()) => break (tracks, codecs),
                Err(VideoError::Ffmpeg { said, .. }) if number < last && !stop.is_killed() => {
                    if codecs == copy {
                        tracing::info!("the sound cannot be copied ({said}); encoding it as AAC");
                    } else {
                        tracing::warn!(
                            "cannot write the {} sound tracks ({said}); trying only the first one",
                            all.len()
                        );
                    }
                }
                Err(error) => return Err(error),
            }
            number += 1;
        };
        let mut command = begin();
        add_tracks(&mut command, tracks, in_pipe);
        // The chapters of the input may last longer than the output, and its container would state their end.
        self.read_tracks(command.args(["-map_chapters", "-1", "-f", pipe_format(format), "-"]));
        Ok((start(&mut command)?, codec))
    }

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
        let offset = self.offset(stop)?;
        let child = self.start(rate, most.as_secs_f64() + offset.max(0.0) + SHIFT, stop)?;
        let mut stdout = child.output()?;
        let mut samples: Vec<f32> = Vec::new();
        // The time of the first sample in seconds, which ffmpeg prints before it writes samples.
        let first = |lines: &[String]| {
            lines.iter().find_map(|line| number(line)).filter(|time| time.is_finite())
        };
        let mut start = None;
        let mut bytes = vec![0; CHUNK];
        loop {
            if stop.is_asked() {
                return Ok(None);
            }
            let read = fill(&mut stdout, &mut bytes).map_err(unreadable)?;
            let sample = |bytes: &[u8]| bytes.try_into().map_or(0.0, f32::from_le_bytes);
            start = start.or_else(|| first(&child.lines_so_far()));
            samples.extend(bytes[..read].chunks_exact(size_of::<f32>()).map(sample));
            if read < bytes.len() {
                break;
            }
        }
        child.wait(Some(EXIT_LIMIT))?;
        let start = start.or_else(|| first(&child.lines()));
        let start = match start {
            Some(start) => start,
            None if samples.is_empty() => return Ok(Some(samples)),
            None => {
                let untimed = "the time of the first sound sample is unknown";
                return Err(unreadable(std::io::Error::other(untimed)));
            }
        };
        // The sound before the first video frame, or the silence from this frame to the start of the sound.
        let length = (most.as_secs_f64() * f64::from(rate)) as usize;
        let late = ((start - SHIFT - offset) * f64::from(rate)).round();
        if late < 0.0 {
            samples.drain(..samples.len().min(-late as usize));
        } else {
            samples.splice(..0, std::iter::repeat_n(0.0, length.min(late as usize)));
        }
        samples.truncate(length);
        Ok(Some(samples))
    }

    /// Starts an ffmpeg process that adds [`SHIFT`] to all times, writes the sound up to time `end` to a pipe, and the
    /// time of the first sample to stderr.
    fn start(&self, rate: u32, end: f64, stop: &Stop) -> Result<Child, VideoError> {
        // `async` fills gaps with silence. 1 stands for neither stretching nor squeezing the sound, which would hide
        // the drift of the recorder's clock. ffmpeg initialises the filters again if the number of channels changes, so
        // `first_pts` would fill the time before the sound a second time. Instead, `print` writes the time of the first
        // sample to a line of its own, at log level 16 (errors).
        let filters = format!(
            "asetpts='PTS+0*if(eq(NB_CONSUMED_SAMPLES,0),print(T,16),0)',aresample={rate}:async=1,aformat=sample_fmts=flt:channel_layouts=mono"
        );
        let mut command = ffmpeg();
        self.input(&mut command, SHIFT);
        let end = format!("{end:.6}");
        let track = format!("0:{}", self.tracks[0]);
        command
            .args(["-map", &track, "-vn", "-af", &filters])
            .args(["-t", &end, "-f", "f32le", "pipe:1", "-t", &end]);
        self.read_tracks(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Child::start(FFMPEG, &mut command, &self.file, FfmpegTask::Listening, stop)
    }
}

/// Returns the format of sound in a pipe for a container, both by their names in ffmpeg. NUT has exact times, but lacks
/// the block sizes of codecs such as WMA and ADPCM, which Matroska stores.
pub(super) fn pipe_format(container: &str) -> &'static str {
    if container == "matroska" { "matroska" } else { "nut" }
}

/// Adds sound tracks to an output of a command, without the sound before time 0.
fn add_tracks(command: &mut Command, tracks: &[u32], codec: &str) {
    for track in tracks {
        command.arg("-map").arg(format!("0:{track}"));
    }
    command.args(["-c:a", codec]);
    command.args(match codec {
        "copy" => ["-copypriorss:a", "0"],
        _ => ["-af", "atrim=start=0"],
    });
}
