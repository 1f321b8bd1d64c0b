//! Reads the properties of a video file with ffprobe: stream index, size, rate, duration, colour encoding, colour tags,
//! pixel format and sound.

mod answer;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use glam::UVec2;
use serde::Deserialize;

use self::answer::Answer;
use super::Sound;
use super::first_frame::first_frame;
use super::process::{Child, EXIT_LIMIT, MAX_ANSWER, PROBE_LIMIT};
use super::{FFPROBE, MaxPixels, input};
use crate::frame::{ColourTags, PixelFormat, Rate, YuvEncoding};
use crate::io::Conversion;
use crate::io::video::constant_rate::TICKS;
use crate::io::video::{FfmpegTask, Stop, VideoError, VideoLimits};

/// The reason why a list is refused.
const LIST: &str = "not a video but a list of files, which is refused because it can name any file; join the files with ffmpeg -f concat -i LIST -c copy JOINED.mkv, where LIST is a text with a line file 'NAME' for each";

/// The properties of a video file.
#[derive(Clone, Debug)]
pub(in crate::io::video) struct Probe {
    /// The index of the video stream in the file.
    pub(super) index: u32,
    /// The number of streams of the file.
    pub(in crate::io::video) streams: usize,
    /// The frame size in pixels, after the rotation that the file requires.
    pub(in crate::io::video) size: UVec2,
    /// The width of a displayed pixel divided by its height.
    pub(super) pixel_aspect: f64,
    /// The time of the first packet of the video stream in seconds, if the file states it.
    start: Option<f64>,
    /// Whether the first packet of the video stream is a key frame.
    starts_with_key_frame: bool,
    /// The number of frames at the start of the video that have no time although later ones have. ffmpeg would give them
    /// the times of later ones.
    pub(super) untimed: usize,
    /// The time from the first packet of the video stream to the first frame that ffmpeg decodes, in seconds. It
    /// differs from 0 only if the file begins between key frames.
    pub(in crate::io::video) late: f64,
    pub(in crate::io::video) rate: Option<Rate>,
    /// Whether the times between frames vary, so that `rate` is the average.
    pub(in crate::io::video) varies: bool,
    pub(in crate::io::video) duration: Option<Duration>,
    pub(super) max_pixels: MaxPixels,
    pub(in crate::io::video) sound: Option<Sound>,
    /// The colour encoding of the stored frames. `None` if they are not Y'CbCr, or their matrix is not BT.601, BT.709
    /// or BT.2020 with non-constant luminance.
    encoding: Option<YuvEncoding>,
    tags: ColourTags,
    /// The pixel format of the stored frames, or `None` if ffprobe does not describe it.
    stored: Option<StoredPixels>,
    /// ffmpeg's name of the codec.
    pub(in crate::io::video) codec: String,
    /// Whether the frames are rotated or flipped after decoding.
    pub(in crate::io::video) rotated: bool,
    /// Whether the file does not state the times at which its frames, or the first ones, are shown.
    pub(in crate::io::video) lacks_timestamps: bool,
    /// Whether the file has frames that are not shown.
    pub(in crate::io::video) omits_frames: bool,
}

/// A pixel format, as ffprobe describes it.
#[derive(Clone, Debug, Deserialize)]
struct StoredPixels {
    /// ffmpeg's name of the format.
    name: String,
    /// The binary logarithm of the number of pixel columns per chroma sample.
    #[serde(default)]
    log2_chroma_w: u8,
    /// The binary logarithm of the number of pixel rows per chroma sample.
    #[serde(default)]
    log2_chroma_h: u8,
    #[serde(default)]
    flags: PixelFlags,
    #[serde(default)]
    components: Vec<PixelComponent>,
}

/// The properties of a pixel format, each of which is 0 or 1.
#[derive(Clone, Debug, Default, Deserialize)]
struct PixelFlags {
    #[serde(default)]
    palette: u8,
    #[serde(default)]
    rgb: u8,
    #[serde(default)]
    alpha: u8,
}

#[derive(Clone, Debug, Deserialize)]
struct PixelComponent {
    bit_depth: u8,
}

impl StoredPixels {
    /// Returns the number of bits per sample.
    fn bits(&self) -> u8 {
        self.components.iter().map(|component| component.bit_depth).max().unwrap_or(8)
    }

    /// Returns whether the format has more chroma samples than 4:2:0.
    fn has_fine_chroma(&self) -> bool {
        let coloured = self.components.len() >= 3;
        let fine = self.log2_chroma_w < 1 || self.log2_chroma_h < 1;
        coloured && fine && self.flags.rgb == 0 && self.flags.palette == 0
    }
}

impl Probe {
    /// Returns the properties of a video that begins between key frames, from the first frame that ffmpeg decodes.
    /// Logs a warning if frames are lost.
    fn starting_at_first_frame(mut self, path: &Path, stop: &Stop) -> Result<Self, VideoError> {
        let input = |command: &mut Command| {
            // Like ffprobe, count from time 0 of the file's timestamps.
            command.arg("-copyts");
            input(command, path, self.max_pixels);
        };
        let first = match first_frame(path, [self.index], input, stop) {
            // The decoder will report why the file cannot be read.
            Err(VideoError::Ffmpeg { .. } | VideoError::TimedOut { .. }) => None,
            first => first?,
        };
        let Some((first, start)) = first.zip(self.start) else { return Ok(self) };
        // Both times are rounded to microseconds. Ignore differences that come from that.
        self.late = ((first - start) * 1e5).round() / 1e5;
        let late = Duration::try_from_secs_f64(self.late).ok();
        if let Some(late) = late.filter(|late| !late.is_zero()) {
            self.duration = self.duration.map(|duration| duration.saturating_sub(late));
            tracing::warn!(
                "{}: the first {:.2} s of the video cannot be decoded, because the file begins between key frames",
                path.display(),
                self.late
            );
        }
        Ok(self)
    }

    /// Returns the colour encoding of the decoded frames: the stored encoding if the kernels support it, otherwise
    /// BT.709 in limited range, to which ffmpeg converts the frames.
    pub(in crate::io::video) fn encoding(&self) -> YuvEncoding {
        self.encoding.unwrap_or_default()
    }

    /// Returns the colour encoding of the stored frames, or `None` if the kernels do not support it.
    pub(in crate::io::video) fn stored(&self) -> Option<YuvEncoding> {
        self.encoding
    }

    /// Returns whether the stored frames have no colours.
    pub(in crate::io::video) fn is_gray(&self) -> bool {
        ["gray", "ya"].iter().any(|kind| self.pixels().starts_with(kind))
    }

    /// Returns the number of bits per sample of the stored frames, or 8 if it is unknown.
    pub(in crate::io::video) fn bits(&self) -> u8 {
        self.stored.as_ref().map_or(8, StoredPixels::bits)
    }

    /// Returns ffmpeg's name of the pixel format of the stored frames.
    pub(in crate::io::video) fn pixels(&self) -> &str {
        self.stored.as_ref().map_or("unknown", |stored| &stored.name)
    }

    /// Returns the duration of a frame in ticks, or 0 if the rate is unknown.
    pub(in crate::io::video) fn frame_duration(&self) -> i64 {
        self.rate.map_or(0, |rate| (f64::from(TICKS) / rate.per_second()).round() as i64)
    }

    pub(in crate::io::video) fn tags(&self) -> ColourTags {
        self.tags
    }

    /// Returns the properties of the video that decoded frames in the format `decoded` lack.
    pub(in crate::io::video) fn conversions(&self, decoded: PixelFormat) -> Vec<Conversion> {
        // A 10-bit video can be written with the tags, see `TenBit`.
        let lost = self.tags != ColourTags::default() && decoded.bits() == 8;
        let tags = lost.then_some(self.tags);
        let mut found: Vec<_> = tags.map(Conversion::Tags).into_iter().collect();
        let Some(stored) = &self.stored else { return found };
        let (from, to) = (stored.bits(), decoded.bits());
        if from > to {
            found.push(Conversion::Depth { from, to });
        }
        if stored.has_fine_chroma() && decoded.cell() > 1 {
            found.push(Conversion::Chroma { stored: stored.name.clone() });
        }
        if stored.flags.alpha == 1 && stored.flags.palette == 0 {
            found.push(Conversion::Alpha);
        }
        found
    }
}

/// Runs ffprobe on a file and returns its properties. ffprobe decodes no frame that exceeds the number of pixels in
/// `limits`.
pub(in crate::io::video) fn probe(
    path: &Path,
    limits: &VideoLimits,
    stop: &Stop,
) -> Result<Probe, VideoError> {
    let metadata = std::fs::metadata(path)
        .map_err(|source| VideoError::Unreadable { file: path.to_owned(), source })?;
    // Reject a pipe, because probing it would consume its data.
    if !metadata.is_file() {
        return Err(VideoError::input(
            path,
            "not a regular file; to read frames from a pipe, set `input-format` to y4m or to a pixel format such as nv12",
        ));
    }
    let mut command = FFPROBE.command();
    command
        .args(["-hide_banner", "-loglevel", "error", "-show_streams", "-show_format"])
        // The pixel formats that ffmpeg knows, with their bit depths and flags.
        .args(["-show_pixel_formats", "-of", "json"])
        // ffprobe has already read these packets. The first one of the video is usually among them.
        .args(["-show_entries", "packet=stream_index,flags,pts_time", "-read_intervals", "%+#64"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let max_pixels = MaxPixels::of_file(limits);
    input(&mut command, path, max_pixels);
    let child = Child::start(FFPROBE, &mut command, path, FfmpegTask::Probing, stop)?;
    let answer = child.answer(MAX_ANSWER, PROBE_LIMIT)?;
    if answer.len() as u64 == MAX_ANSWER {
        child.kill();
        let long = "ffprobe's description of the file has more than 4 MiB; remove tags and streams, for example with ffmpeg -i FILE -map 0:v:0 -map_metadata -1 -c copy FILE.mkv";
        return Err(VideoError::Unreadable {
            file: path.to_owned(),
            source: io::Error::other(long),
        });
    }
    let exited = child.wait(Some(EXIT_LIMIT));
    // ffprobe does not know the size of a video if all of its frames are too large.
    let lines = child.lines();
    let sized = || parse(&answer, path, limits).is_ok_and(|probe| probe.size.min_element() > 0);
    if let Some(source) = max_pixels.exceeded(&lines)
        && (exited.is_err() || !sized())
    {
        return Err(VideoError::Limit { file: path.to_owned(), source });
    }
    match exited {
        // An exit code means that ffprobe did not recognise the format. There is no exit code if a signal killed
        // ffprobe.
        Err(VideoError::Ffmpeg { file, status, said, .. }) if status.code().is_some() => {
            FFPROBE.check(path, stop)?;
            if is_list(path) {
                return Err(VideoError::input(path, LIST));
            }
            // ffprobe quotes the whole list.
            let said = match said.contains("not on whitelist") {
                true => "its format is not one of those that panoweave reads".to_owned(),
                false => said,
            };
            return Err(VideoError::NotVideo { file, said });
        }
        done => done?,
    }
    let probe = parse(&answer, path, limits).or_else(|error| {
        if let VideoError::NotVideo { .. } = error {
            FFPROBE.check(path, stop)?;
        }
        Err(error)
    })?;
    if probe.starts_with_key_frame { Ok(probe) } else { probe.starting_at_first_frame(path, stop) }
}

/// Returns whether a file that ffprobe has rejected is a list of files: HLS, ffconcat, PLS, DASH, IMF, ASX or SMIL.
fn is_list(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start).to_ascii_lowercase();
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let starts = ["#extm3u", "ffconcat version", "file ", "[playlist]"];
    let tags = ["<mpd", "<compositionplaylist", "<asx", "<smil"];
    read.is_ok()
        && (starts.iter().any(|line| start.starts_with(line))
            || start.starts_with('<') && tags.iter().any(|tag| start.contains(tag)))
}

/// Parses the output of ffprobe for the file `path`.
pub(in crate::io::video) fn parse(
    answer: &[u8],
    path: &Path,
    limits: &VideoLimits,
) -> Result<Probe, VideoError> {
    match serde_json::from_slice::<Answer>(answer) {
        Ok(answer) => answer.probe(path, limits),
        Err(error) => Err(VideoError::NotVideo { file: path.to_owned(), said: error.to_string() }),
    }
}
