//! Reads the properties of a video file with ffprobe: stream index, size, rate, duration, colour encoding, colour tags,
//! pixel format and sound.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use glam::UVec2;
use serde::Deserialize;

use super::Sound;
use super::first_frame::first_frame;
use super::process::{Child, EXIT_LIMIT, MAX_ANSWER, PROBE_LIMIT};
use super::{FFPROBE, MaxPixels, input};
use crate::frame::Rate;
use crate::frame::{ColourTags, PixelFormat, Primaries, Range, Transfer, YuvEncoding, YuvMatrix};
use crate::io::Conversion;
use crate::io::video::constant_rate::TICKS;
use crate::io::video::medium::customary;
use crate::io::video::{FfmpegTask, Stop, VideoError, VideoLimits};

/// The beginnings of the names of ffmpeg's pixel formats that have luma or Y'CbCr: planar, packed and gray ones.
const LUMA_AND_CHROMA: [&str; 15] = [
    "yuv", "nv", "gray", "yuyv", "yvyu", "uyv", "uyyv", "v30x", "y2", "p0", "p2", "p4", "ayuv",
    "vuy", "xv",
];

/// The maximum relative difference between the nominal frame rate of a video whose rate counts as constant, and its
/// average rate or the rate at its start.
const CONSTANT: f64 = 1e-2;

/// The maximum relative difference of an interval between two frames from the median for which no frame is missing.
const JITTER: f64 = 0.25;

/// The minimum number of intervals between frames from which the rate at the start of a video is measured.
const FEWEST_INTERVALS: usize = 8;

/// The maximum number of packets between which H.264 and HEVC change the order of frames.
const REORDERED: usize = 16;

/// The relative difference between the average rate and the rate at the start of a video, above which a warning is
/// logged.
const UNEVEN: f64 = 0.1;

/// The maximum relative difference at which a measured average frame rate is rounded to the nearest common camera rate.
const MEANT: f64 = 2e-3;

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
    /// The typical time between frames at the start of the video in seconds, if it can be measured.
    interval: Option<f64>,
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
        if let Some(late) = seconds(self.late).filter(|late| !late.is_zero()) {
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

    /// Logs a warning if the video is read at its average rate, and this is not the rate at its start.
    pub(in crate::io::video) fn warn_of_uneven_rate(&self, path: &Path) {
        let Some((rate, interval)) = self.rate.filter(|_| self.varies).zip(self.interval) else {
            return;
        };
        if (rate.per_second() * interval - 1.0).abs() > UNEVEN {
            tracing::warn!(
                "{}: the frame rate varies: {:.2} frames per second at the start, {:.2} on average; the video is read at its average rate, so frames may be lost or repeated; set a frame rate to keep them",
                path.display(),
                interval.recip(),
                rate.per_second()
            );
        }
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
        return Err(VideoError::NotRegular { file: path.to_owned() });
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

/// The part of ffprobe's JSON output that this module reads.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    streams: Vec<Stream>,
    #[serde(default)]
    format: Format,
    #[serde(default)]
    pixel_formats: Vec<StoredPixels>,
    /// The first packets of the file.
    #[serde(default)]
    packets: Vec<Packet>,
}

#[derive(Deserialize)]
struct Packet {
    stream_index: Option<u32>,
    pts_time: Option<String>,
    #[serde(default)]
    flags: String,
}

#[derive(Default, Deserialize)]
struct Format {
    format_name: Option<String>,
    duration: Option<String>,
}

#[derive(Deserialize)]
struct Stream {
    index: u32,
    codec_type: Option<String>,
    codec_name: Option<String>,
    channels: Option<u32>,
    width: Option<u32>,
    height: Option<u32>,
    sample_aspect_ratio: Option<String>,
    pix_fmt: Option<String>,
    color_range: Option<String>,
    color_space: Option<String>,
    color_primaries: Option<String>,
    color_transfer: Option<String>,
    r_frame_rate: Option<String>,
    avg_frame_rate: Option<String>,
    nb_frames: Option<String>,
    start_time: Option<String>,
    duration: Option<String>,
    #[serde(default)]
    disposition: Disposition,
    #[serde(default)]
    side_data_list: Vec<SideData>,
}

#[derive(Default, Deserialize)]
struct Disposition {
    /// The value 1 for a stream that is an attached picture, such as the cover of a music file, otherwise 0.
    #[serde(default)]
    attached_pic: u8,
    /// The value 1 for a stream that players show unless the user selects another one, otherwise 0.
    #[serde(default)]
    default: u8,
}

#[derive(Deserialize)]
struct SideData {
    #[serde(rename = "side_data_type", default)]
    kind: String,
    rotation: Option<f64>,
}

impl Answer {
    fn probe(self, path: &Path, limits: &VideoLimits) -> Result<Probe, VideoError> {
        let is = |stream: &Stream, kind| stream.codec_type.as_deref() == Some(kind);
        let tracks = self.streams.iter().filter(|s| is(s, "audio") && s.is_sound());
        let tracks: Vec<_> = tracks.map(|stream| stream.index).collect();
        let videos: Vec<_> = self
            .streams
            .iter()
            .filter(|s| is(s, "video") && s.disposition.attached_pic == 0)
            .collect();
        let video = videos.iter().find(|s| s.disposition.default == 1).or(videos.first()).copied();
        let (Some(video), Some(size)) = (video, video.and_then(Stream::size)) else {
            return Err(VideoError::NoVideoStream { file: path.to_owned() });
        };
        if videos.len() > 1 {
            tracing::warn!(
                "{}: the file has {} video streams; stream {} is read",
                path.display(),
                videos.len(),
                video.index
            );
        }
        let start = |text: &Option<String>| text.as_deref().and_then(|t| t.parse::<f64>().ok());
        let max_pixels = MaxPixels::of_video(limits, video.index, size);
        let packets = self.packets.iter().filter(|packet| packet.stream_index == Some(video.index));
        let first = packets.clone().next();
        let times = packets.map(|packet| start(&packet.pts_time)).collect::<Vec<_>>();
        let untimed = untimed(&times);
        let mut times = times.into_iter().flatten().collect::<Vec<_>>();
        times.sort_by(f64::total_cmp);
        let interval = typical_interval(&times);
        // ffmpeg computes the average rates of these formats from numbers that may count a frame twice, or are rounded.
        let format = self.format.format_name.as_deref();
        let average = video.average_rate().filter(|_| !matches!(format, Some("avi" | "asf")));
        let rate = video.rate(average, interval.or(mean_interval(&times)));
        let sound = (!tracks.is_empty()).then(|| Sound {
            file: path.to_owned(),
            video: video.index,
            tracks,
            start: Duration::ZERO,
            max_pixels,
        });
        let duration = [&video.duration, &self.format.duration].into_iter().find_map(start);
        Ok(Probe {
            index: video.index,
            streams: self.streams.len(),
            size,
            pixel_aspect: video.pixel_aspect(),
            start: start(&video.start_time),
            starts_with_key_frame: first.is_some_and(|packet| packet.flags.starts_with('K')),
            untimed,
            late: 0.0,
            rate: rate.map(|(rate, _)| rate),
            varies: rate.is_some_and(|(_, varies)| varies),
            interval,
            duration: duration.and_then(seconds),
            max_pixels,
            sound,
            encoding: video.encoding(),
            tags: video.tags(),
            codec: video.codec_name.clone().unwrap_or_else(|| "unknown".to_owned()),
            rotated: video.side_data_list.iter().any(|data| data.kind == "Display Matrix"),
            // The files in these formats state decoding times, at most.
            lacks_timestamps: untimed > 0 || matches!(format, Some("h264" | "hevc" | "avi")),
            omits_frames: video.omits_frames(),
            stored: self
                .pixel_formats
                .iter()
                .find(|format| video.pix_fmt.as_ref() == Some(&format.name))
                .cloned(),
        })
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the number of frames at the start of a video that have no time although later ones have. `times` are those of
/// the first packets, in the order of decoding. May count a few later frames without a time, too.
fn untimed(times: &[Option<f64>]) -> usize {
    match times.iter().position(Option::is_some) {
        None | Some(0) => 0,
        Some(first) => times.iter().take(first + REORDERED).filter(|time| time.is_none()).count(),
    }
}

/// Returns the typical time between frames with these times, which are sorted: the mean of the intervals between which
/// no frame is missing. Returns `None` if there are too few of them, or if most intervals have other lengths.
fn typical_interval(times: &[f64]) -> Option<f64> {
    let mut intervals: Vec<f64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|interval| *interval > 0.0).collect();
    intervals.sort_by(f64::total_cmp);
    let median = *intervals.get(intervals.len() / 2)?;
    let all = intervals.len();
    intervals.retain(|interval| (interval / median - 1.0).abs() < JITTER);
    let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
    (intervals.len() >= FEWEST_INTERVALS.max(2 * all / 3)).then_some(mean)
}

/// Returns the mean time between frames with these times, which are sorted. Returns `None` if there are too few of them.
fn mean_interval(times: &[f64]) -> Option<f64> {
    let intervals = times.len().saturating_sub(1);
    let mean = (times.last()? - times.first()?) / intervals as f64;
    (intervals >= FEWEST_INTERVALS && mean > 0.0).then_some(mean)
}

impl Stream {
    /// Returns whether a sound track has sound in a format that ffmpeg knows. A file may announce a track of which it
    /// has no packets.
    fn is_sound(&self) -> bool {
        let is_known = |name: &str| !["unknown", "none"].contains(&name);
        self.codec_name.as_deref().is_some_and(is_known) && self.channels.is_some_and(|n| n > 0)
    }

    /// Returns whether ffmpeg turns the frames by a quarter.
    fn is_sideways(&self) -> bool {
        let turned = self.side_data_list.iter().find_map(|data| data.rotation).unwrap_or(0.0);
        // At other angles, ffmpeg rotates the picture within frames of the stored size.
        let turned = turned.rem_euclid(360.0);
        [90.0, 270.0].into_iter().any(|angle| (turned - angle).abs() < 1.0)
    }

    /// Returns the frame size in pixels after the rotation that ffmpeg applies.
    fn size(&self) -> Option<UVec2> {
        let size = UVec2::new(self.width?, self.height?);
        Some(if self.is_sideways() { UVec2::new(size.y, size.x) } else { size })
    }

    /// Returns the width of a displayed pixel divided by its height, after the rotation that ffmpeg applies, or 1 if it
    /// is unknown.
    fn pixel_aspect(&self) -> f64 {
        let ratio = self.sample_aspect_ratio.as_deref().and_then(|text| text.split_once(':'));
        let parsed = ratio.and_then(|(x, y)| Some(x.parse::<f64>().ok()? / y.parse::<f64>().ok()?));
        let aspect = parsed.filter(|aspect| *aspect > 0.0 && aspect.is_finite()).unwrap_or(1.0);
        if self.is_sideways() { aspect.recip() } else { aspect }
    }

    /// Returns whether the frames that the file states last longer than the video. The average rate is that of all
    /// frames, and the duration is that of the frames to show.
    fn omits_frames(&self) -> bool {
        let number = |text: &Option<String>| text.as_deref().and_then(|t| t.parse::<f64>().ok());
        let rate = self.average_rate();
        let (Some(frames), Some(duration)) = (number(&self.nb_frames), number(&self.duration))
        else {
            return false;
        };
        rate.is_some_and(|rate| frames - duration * rate.per_second() > 1.5)
    }

    fn average_rate(&self) -> Option<Rate> {
        self.avg_frame_rate.as_deref().and_then(|text| text.parse().ok())
    }

    /// Returns the frame rate, and whether it varies:
    /// - the nominal rate, if it differs from the average rate by less than [`CONSTANT`],
    /// - the nominal rate, if it differs from the rate at the start by less than [`CONSTANT`], and the average rate is
    ///   unknown, lower because frames are missing, or higher because the last frame is short,
    /// - the average rate otherwise, because the rate varies. It is rounded to a common camera rate within [`MEANT`].
    /// - the rate at the start if the average rate is unknown, as that of some transport streams and live recordings.
    ///
    /// `interval` is the time between two frames at the start in seconds.
    fn rate(&self, average: Option<Rate>, interval: Option<f64>) -> Option<(Rate, bool)> {
        let nominal: Option<Rate> = self.r_frame_rate.as_deref().and_then(|text| text.parse().ok());
        let frames = self.nb_frames.as_deref().and_then(|text| text.parse::<f64>().ok());
        // The average rate of a video whose last frame has no duration, divided by its rate.
        let highest = frames.filter(|n| *n > 1.0).map_or(1.0, |n| n / (n - 1.0));
        let is_at_start =
            |rate: &Rate| interval.map(|time| (rate.per_second() * time - 1.0).abs() < CONSTANT);
        let is_constant = |nominal: &Rate| match average {
            Some(average) => {
                let may_fit = average.per_second() < highest * nominal.per_second();
                nominal.distance(average) < CONSTANT
                    || (may_fit && is_at_start(nominal) == Some(true))
            }
            None => is_at_start(nominal) != Some(false),
        };
        let at_start = || Rate::from_interval(interval?).map(|rate| rate.usual(CONSTANT));
        let varying = || average.map(|average| average.usual(MEANT)).or_else(at_start);
        match nominal.filter(is_constant) {
            Some(nominal) => Some((nominal, false)),
            None => varying().map(|rate| (rate, true)),
        }
    }

    fn encoding(&self) -> Option<YuvEncoding> {
        let pixels = self.pix_fmt.as_deref().unwrap_or_default();
        if !LUMA_AND_CHROMA.iter().any(|kind| pixels.starts_with(kind)) {
            return None;
        }
        let full = match self.color_range.as_deref() {
            Some("pc") => true,
            Some("tv") => pixels.starts_with("yuvj"),
            // The standards of these codecs define the range of gray videos that do not state it. In all other codecs,
            // such as JPEG and raw frames, gray has the full range.
            _ if pixels.starts_with("gray") => !["h264", "hevc", "vvc", "av1", "vp9"]
                .contains(&self.codec_name.as_deref().unwrap_or("")),
            _ => pixels.starts_with("yuvj"),
        };
        let range = if full { Range::Full } else { Range::Limited };
        match self.color_space.as_deref() {
            Some("bt709") => Some(YuvEncoding { matrix: YuvMatrix::Bt709, range }),
            Some("bt2020nc") => Some(YuvEncoding { matrix: YuvMatrix::Bt2020, range }),
            Some("smpte170m" | "bt470bg") => Some(YuvEncoding { matrix: YuvMatrix::Bt601, range }),
            None | Some("unknown" | "unspecified") => Some(customary(self.size()?, range)),
            Some(_) => None,
        }
    }

    fn tags(&self) -> ColourTags {
        ColourTags {
            primaries: match self.color_primaries.as_deref() {
                Some("bt2020") => Primaries::Bt2020,
                _ => Primaries::Bt709,
            },
            transfer: match self.color_transfer.as_deref() {
                Some("smpte2084") => Transfer::Pq,
                Some("arib-std-b67") => Transfer::Hlg,
                _ => Transfer::Bt709,
            },
        }
    }
}

#[cfg(test)]
mod tests;
