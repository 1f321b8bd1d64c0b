//! Encodes frames to an H.264 video file with libx264, or 10-bit frames to HEVC (Main 10) with libx265, and adds the
//! sound of another file.
//!
//! 1. A first ffmpeg process encodes the frames to a temporary file in the folder of the output. The duration of the
//!    video is known only when this process ends.
//! 2. If sound was requested, a second ffmpeg process adds sound of this duration. It copies the sound, or encodes it
//!    as AAC if the container does not support its codec. A single ffmpeg process with `-shortest` would be simpler,
//!    but would cut the video if the sound is shorter.
//! 3. The result is renamed to the output, so that an old file is replaced atomically.
//!
//! ffmpeg up to version 6 returns 0 even if it cannot write the end of the file, for instance on a full disk. Therefore
//! this module also checks the messages of ffmpeg and the length of the file.
//!
//! 4:2:0 chroma needs even sides, so the last column or row of a panorama with an odd side is dropped.
//!
//! The colour tags of HEVC are those of the caller. Static HDR metadata, such as the mastering display, is not written.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use glam::UVec2;
use tempfile::TempPath;

use super::probe::Sound;
use super::process::Child;
use super::{FFMPEG, range_and_matrix, url};
use crate::frame::Rate;
use crate::frame::{
    ColourTags, Frame, FrameFormat, Primaries, Range, Transfer, YuvEncoding, YuvMatrix,
};
use crate::io::video::medium::container;
use crate::io::video::stream::write_raw;
use crate::io::video::{FfmpegTask, Stop, VideoError};
use crate::io::{Unfinished, temporary_beside};

/// The names of the H.264 and the HEVC encoder in ffmpeg.
const ENCODERS: [&str; 2] = ["libx264", "libx265"];

/// The text that ffmpeg prints if it cannot write the end of the output file.
const NO_END: &str = "Error writing trailer";

/// Returns the options that tag the video, with each chroma sample in the centre of four pixels.
fn tagged(YuvEncoding { matrix, range }: YuvEncoding, tags: ColourTags) -> [&'static str; 10] {
    let (space, own_primaries, own_transfer) = match matrix {
        YuvMatrix::Bt601 => ("smpte170m", "smpte170m", "smpte170m"),
        YuvMatrix::Bt709 => ("bt709", "bt709", "bt709"),
        YuvMatrix::Bt2020 => ("bt2020nc", "bt709", "bt2020-10"),
    };
    let primaries = match tags.primaries {
        Primaries::Bt709 => own_primaries,
        Primaries::Bt2020 => "bt2020",
    };
    let transfer = match tags.transfer {
        Transfer::Bt709 => own_transfer,
        Transfer::Pq => "smpte2084",
        Transfer::Hlg => "arib-std-b67",
    };
    [
        "-color_range",
        if range == Range::Full { "pc" } else { "tv" },
        "-colorspace",
        space,
        "-color_primaries",
        primaries,
        "-color_trc",
        transfer,
        "-chroma_sample_location",
        "center",
    ]
}

/// The constant rate factor (CRF), which sets the quality of H.264 and HEVC video. It is 0 to 51: 0 is lossless, and 51 is the
/// worst quality. Adding 6 roughly halves the file size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crf(u8);

impl Crf {
    /// Creates the factor, or returns `None` if `value` is greater than 51.
    #[must_use]
    pub fn new(value: u8) -> Option<Self> {
        (value <= 51).then_some(Self(value))
    }
}

impl Default for Crf {
    /// Returns 20. The quality is high enough for editing the video and encoding it again.
    fn default() -> Self {
        Self(20)
    }
}

/// The properties of a 10-bit video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenBit {
    /// The colour encoding of the frames. Y4M streams use only its range, because they do not state a matrix.
    pub encoding: YuvEncoding,
    /// The primaries and the transfer function, which encoded files state. Other media ignore them.
    pub tags: ColourTags,
}

/// An ffmpeg process that encodes frames, and the files that it writes.
pub(in crate::io::video) struct Encoder {
    child: Child,
    /// The pipe to ffmpeg, or `None` after the last frame or an error.
    frames: Option<ChildStdin>,
    /// The number of frames passed to [`write`](Self::write).
    written: u64,
    rate: Rate,
    /// The path that the caller passed, which error messages name.
    output: PathBuf,
    /// The name of the container in ffmpeg.
    format: &'static str,
    /// The name of the encoder in ffmpeg.
    encoder: &'static str,
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
    /// Returns the format that frames must have for a panorama of `size` pixels.
    pub(in crate::io::video) fn format(size: UVec2, ten_bit: Option<TenBit>) -> FrameFormat {
        match ten_bit {
            Some(TenBit { encoding, .. }) => FrameFormat::p010(size.x, size.y, encoding),
            None => FrameFormat::nv12(size.x, size.y, YuvEncoding::default()),
        }
    }

    /// Starts an ffmpeg process that encodes frames from a pipe to a temporary file.
    pub(in crate::io::video) fn start(
        output: &Path,
        size: UVec2,
        rate: Rate,
        crf: Crf,
        sound: Option<Sound>,
        ten_bit: Option<TenBit>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        if size.min_element() < 2 {
            return Err(VideoError::TooSmall { file: output.to_owned(), size });
        }
        let format =
            container(output).ok_or_else(|| VideoError::Extension { file: output.to_owned() })?;
        let unwritable = |source| VideoError::Unwritable { file: output.to_owned(), source };
        let (unfinished, pictures, target) = temporary_beside(output).map_err(unwritable)?;
        let pictures = pictures.into_temp_path();
        let TenBit { encoding, tags } = ten_bit.unwrap_or_default();
        let tagged = tagged(encoding, tags);
        let (input, stored, encoder) = match ten_bit {
            None => ("nv12", "yuv420p", ENCODERS[0]),
            Some(_) => ("p010le", "yuv420p10le", ENCODERS[1]),
        };
        // ffmpeg does not know the range of raw frames, so it would convert full range to limited range.
        let [from, to] = ["in", "out"].map(|side| range_and_matrix(side, encoding));
        let filters = format!("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0,scale=iw:ih{from}{to}");
        let mut command = quiet();
        command
            .args(["-xerror", "-f", "rawvideo", "-pix_fmt", input])
            .args(&tagged[..4])
            .arg("-s")
            .arg(format!("{}x{}", size.x, size.y))
            .args(["-framerate", &rate.to_string(), "-i", "pipe:0"])
            .args(["-vf", &filters, "-pix_fmt", stored])
            .args(["-c:v", encoder, "-crf", &crf.0.to_string()])
            .args(tagged);
        if ten_bit.is_some() {
            // libx265 has its own log. A CRF of 0 is not lossless in HEVC.
            let lossless = if crf.0 == 0 { ":lossless=1" } else { "" };
            command
                .args(["-profile:v", "main10", "-x265-params"])
                .arg(format!("log-level=error{lossless}"));
            if format != "matroska" {
                // Players of MP4 and MOV expect this tag instead of ffmpeg's default, `hev1`.
                command.args(["-tag:v", "hvc1"]);
            }
        }
        command
            .args(["-f", format])
            .arg(url(&pictures))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let child = Child::start(FFMPEG, &mut command, output, FfmpegTask::Encoding, stop)?;
        let frames = child.stdin();
        let (output, stop) = (output.to_owned(), stop.clone());
        Ok(Self {
            child,
            frames,
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

    pub(in crate::io::video) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let written = match &mut self.frames {
            Some(frames) => write_raw(frames, frame),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.written += 1;
        written.map_err(|source| {
            self.frames = None;
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
        self.frames = None;
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
        self.child.wait(None).map_err(|error| match error {
            VideoError::Ffmpeg { file, said, .. } if said.contains("Unknown encoder") => {
                VideoError::NoEncoder { file, encoder: self.encoder }
            }
            // An exit code means that ffmpeg was not killed.
            VideoError::Ffmpeg { status, .. } if status.code().is_some() => {
                FFMPEG.check(&self.output, &self.stop).err().unwrap_or(error)
            }
            other => other,
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
        let mux = |codec: &str| {
            let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
            let end = self.rate.time(self.written) + sound.offset;
            let mut command = quiet();
            command.args(["-itsoffset", &seconds(sound.offset), "-i"]).arg(url(&self.pictures));
            if !sound.start.is_zero() {
                command.args(["-ss", &seconds(sound.start)]);
            }
            command
                .args(["-t", &seconds(end), "-i"])
                .arg(url(&sound.file))
                .args(["-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", codec])
                // Without this option, copied sound begins at the key frame before `start`.
                .args(["-copypriorss:a", "0"])
                .args(["-f", self.format])
                .arg(url(&whole))
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let child =
                Child::start(FFMPEG, &mut command, &self.output, FfmpegTask::Sound, &self.stop)?;
            child.wait(None)?;
            self.complete(&child, &whole, least)
        };
        match mux("copy") {
            Err(VideoError::Ffmpeg { said, status, .. }) if status.code().is_some() => {
                tracing::info!("the sound cannot be copied ({said}); encoding it as AAC");
                mux("aac")?;
            }
            done => done?,
        }
        Ok(whole)
    }
}

/// Returns an ffmpeg command that prints only errors and overwrites its output file.
fn quiet() -> Command {
    let mut command = FFMPEG.command();
    command.args(["-nostdin", "-hide_banner", "-loglevel", "error", "-y"]);
    command
}
