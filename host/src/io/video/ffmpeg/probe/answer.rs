//! ffprobe's answer in JSON: which stream is read, its size, its frame rate and its colours.

use std::path::Path;
use std::time::Duration;

use glam::UVec2;
use serde::Deserialize;

use super::{Probe, StoredPixels};
use crate::frame::{ColourTags, Primaries, Range, Rate, Transfer, YuvEncoding, YuvMatrix};
use crate::io::video::ffmpeg::{MaxPixels, Sound};
use crate::io::video::medium::customary;
use crate::io::video::{VideoError, VideoLimits};

/// The beginnings of the names of ffmpeg's pixel formats that have luma or Y'CbCr: planar, packed and gray ones.
const LUMA_AND_CHROMA: [&str; 15] = [
    "yuv", "nv", "gray", "yuyv", "yvyu", "uyv", "uyyv", "v30x", "y2", "p0", "p2", "p4", "ayuv",
    "vuy", "xv",
];

/// The maximum relative difference between the nominal frame rate of a video whose rate counts as constant, and its
/// average rate or the rate at its start. Measured rates within it are rounded to the nearest common camera rate.
const CONSTANT: f64 = 1e-2;

/// The maximum relative difference of an interval between two frames from the median for which no frame is missing.
const JITTER: f64 = 0.25;

/// The minimum number of intervals between frames from which the rate at the start of a video is measured.
const FEWEST_INTERVALS: usize = 8;

/// The maximum number of packets between which H.264 and HEVC change the order of frames.
const REORDERED: usize = 16;

/// The part of ffprobe's JSON output that this module reads.
#[derive(Deserialize)]
pub(super) struct Answer {
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
    pub(super) fn probe(self, path: &Path, limits: &VideoLimits) -> Result<Probe, VideoError> {
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
            return Err(VideoError::input(
                path,
                "the file has no video stream; use a file that contains video",
            ));
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
        // ffmpeg computes the average rates of these formats from numbers that may count a frame twice, or are rounded.
        let format = self.format.format_name.as_deref();
        let average = video.average_rate().filter(|_| !matches!(format, Some("avi" | "asf")));
        let rate = video.rate(average, interval(&times));
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
            duration: duration.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
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

/// Returns the number of frames at the start of a video that have no time although later ones have. `times` are those of
/// the first packets, in the order of decoding. May count a few later frames without a time, too.
fn untimed(times: &[Option<f64>]) -> usize {
    match times.iter().position(Option::is_some) {
        None | Some(0) => 0,
        Some(first) => times.iter().take(first + REORDERED).filter(|time| time.is_none()).count(),
    }
}

/// Returns the typical time between frames with these times, which are sorted: the mean of the intervals between which
/// no frame is missing, or of all intervals if most have other lengths. Returns `None` if there are too few of them.
fn interval(times: &[f64]) -> Option<f64> {
    let mut intervals: Vec<f64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|interval| *interval > 0.0).collect();
    intervals.sort_by(f64::total_cmp);
    let median = *intervals.get(intervals.len() / 2)?;
    let near = |interval: &f64| (interval / median - 1.0).abs() < JITTER;
    let regular: Vec<f64> = intervals.iter().copied().filter(near).collect();
    let most = if regular.len() >= 2 * intervals.len() / 3 { &regular } else { &intervals };
    (most.len() >= FEWEST_INTERVALS).then(|| most.iter().sum::<f64>() / most.len() as f64)
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
    /// - the nominal rate, if it differs from the average rate or from the rate at the start by less than [`CONSTANT`],
    ///   or if both are unknown. The average is lower if frames are missing, and higher if the last frame is short.
    /// - the average rate otherwise, because the rate varies,
    /// - the rate at the start if the average rate is unknown, as that of some transport streams and live recordings.
    ///
    /// `interval` is the time between two frames at the start in seconds.
    fn rate(&self, average: Option<Rate>, interval: Option<f64>) -> Option<(Rate, bool)> {
        let nominal: Option<Rate> = self.r_frame_rate.as_deref().and_then(|text| text.parse().ok());
        let measured = [average, interval.and_then(Rate::from_interval)];
        let mut known = measured.into_iter().flatten();
        let is_constant = |nominal: &Rate| {
            measured == [None; 2] || known.clone().any(|rate| rate.distance(*nominal) < CONSTANT)
        };
        match nominal.filter(is_constant) {
            Some(nominal) => Some((nominal, false)),
            None => known.next().map(|rate| (rate.usual(CONSTANT), true)),
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
