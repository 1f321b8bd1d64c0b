//! Measurements of the number of live camera pairs that machines sustain at once: their form in a bench record, and
//! their table in the report.

use serde::{Deserialize, Serialize};

use crate::facts::{NONE, digits};
use crate::record::Size;

/// A measurement of the number of live camera pairs that one or more GPUs sustain at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The name of the GPUs, such as `cuda:0` or `8 GPUs`.
    pub on: String,
    /// The number of GPUs.
    pub gpus: u32,
    /// The size of the cameras' frames.
    pub source: Size,
    /// The size of the panorama.
    pub panorama: Size,
    /// The way in which frames reach the stitcher: `in place` if the camera's driver writes them directly into
    /// page-locked memory, `copied` if the processor copies them into page-locked memory.
    pub feed: String,
    /// The frame rate of each camera, in frames per second.
    pub fps: f64,
    /// The largest number of pairs per GPU that kept pace, or 0 if not even one pair kept pace.
    pub held: u32,
    /// The smallest number of pairs per GPU that did not keep pace, or `None` if every tried number did.
    pub broke: Option<u32>,
    /// The bottleneck, or the reason why larger numbers of pairs were not tried.
    pub limit: String,
    /// The median latency in µs: the time from when a pair of frames is due until its panorama is read.
    pub median_us: f64,
    /// The 99th percentile of the latency in µs.
    pub p99_us: f64,
    /// The number of panoramas per second from all GPUs together.
    pub per_second: f64,
    /// The number of bytes copied to the device per panorama, and the number copied back to the host.
    pub bytes: [u64; 2],
    /// The time in µs to copy one pair and its panorama over the bus, without stitching.
    pub copies_us: f64,
    /// The GPU time in µs to stitch one pair, without copies.
    pub stitch_us: f64,
}

/// The names of the columns of [`Scale::cells`].
pub(crate) const HEAD: [&str; 13] = [
    "GPUs",
    "cameras",
    "panorama",
    "feed",
    "bottleneck, or reason to stop",
    "fps",
    "pairs per GPU",
    "failed at",
    "p50 ms",
    "p99 ms",
    "panoramas/s",
    "share of bus",
    "share of GPU",
];

/// The number of text columns in [`HEAD`]. The text columns come first; all columns after them contain numbers.
pub(crate) const WORDS: usize = 5;

/// The note above the table of live pairs.
pub(crate) const NOTE: &str = "Live pairs at once, each with its own stitcher: the largest number without a dropped pair \
     and with a 99th percentile of the latency of at most two frame intervals. The latency is the time from when \
     frames are due until their panorama is read. The shares of bus and GPU are the times of the copies and of the \
     stitches, each measured alone, divided by the elapsed time.";

impl Scale {
    /// Returns a description of the first value that no measurement can have, or `None` if all values are possible.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let Self { held, broke, median_us: median, p99_us: p99, .. } = self;
        let times = [*median, *p99, self.per_second, self.copies_us, self.stitch_us];
        match () {
            () if self.gpus == 0 => Some("the number of GPUs is 0"),
            () if !(self.fps.is_finite() && self.fps > 0.0) => {
                Some("the frame rate is not above 0")
            }
            () if times.iter().any(|time| !(time.is_finite() && *time >= 0.0)) => {
                Some("a time or rate is negative or not finite")
            }
            () if median > p99 => Some("the median exceeds the 99th percentile"),
            () if broke.is_some_and(|broke| broke <= *held) => Some("`broke` is not above `held`"),
            () => None,
        }
    }

    /// Returns whether `other` is a measurement with the same GPUs, sizes, feed and frame rate.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |scale: &Self| (scale.source, scale.panorama, scale.gpus, scale.fps.to_bits());
        (&self.on, &self.feed) == (&other.on, &other.feed) && key(self) == key(other)
    }

    /// Returns the fraction of the time for which `self.held` live camera pairs keep a resource busy. `us` is the time
    /// in µs for which one pair of frames occupies the resource.
    fn share(&self, us: f64) -> f64 {
        f64::from(self.held) * self.fps * us / 1e6
    }

    /// Returns the cells of the table row, in the order of [`HEAD`].
    pub(crate) fn cells(&self) -> [String; HEAD.len()] {
        let any = |text: String| if self.held == 0 { NONE.to_owned() } else { text };
        let share = |us| any(format!("{:.0} %", 100.0 * self.share(us)));
        [
            self.on.clone(),
            self.source.to_string(),
            self.panorama.to_string(),
            self.feed.clone(),
            self.limit.clone(),
            digits(self.fps),
            self.held.to_string(),
            self.broke.map_or_else(|| NONE.to_owned(), |broke| broke.to_string()),
            any(digits(self.median_us / 1e3)),
            any(digits(self.p99_us / 1e3)),
            any(digits(self.per_second)),
            share(self.copies_us),
            share(self.stitch_us),
        ]
    }
}
