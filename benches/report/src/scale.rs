//! How many live pairs of cameras at once machines keep pace with: a record's lines of it, and their table.

use serde::{Deserialize, Serialize};

use crate::facts::{NONE, digits};
use crate::record::Size;

/// How many pairs at once some GPUs keep pace with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Which GPUs: `cuda:0`, or `8 GPUs`.
    pub on: String,
    /// How many GPUs these are.
    pub gpus: u32,
    /// What each camera gives.
    pub source: Size,
    /// What comes out.
    pub panorama: Size,
    /// How frames come, such as `in place`.
    pub feed: String,
    /// Frames a second of every camera.
    pub fps: f64,
    /// The most pairs on each GPU that kept pace; 0 if none did.
    pub held: u32,
    /// The fewest above that were tried and did not.
    pub broke: Option<u32>,
    /// What broke then, or why no more were tried.
    pub limit: String,
    /// Latency from when frames were due until their panorama was read, in µs; half are faster.
    pub median_us: f64,
    /// 99 of 100 are faster.
    pub p99_us: f64,
    /// Panoramas a second, of all these GPUs together.
    pub per_second: f64,
    /// Bytes to the device and back for each panorama.
    pub bytes: [u64; 2],
    /// What the copies of a pair and its panorama alone take of the bus, in µs.
    pub copies_us: f64,
    /// What the stitch of a pair alone takes of the GPU, in µs.
    pub stitch_us: f64,
}

/// What stands over [`Scale::cells`].
pub(crate) const HEAD: [&str; 13] = [
    "on",
    "cameras",
    "panorama",
    "frames",
    "what broke, or why no more were tried",
    "a second",
    "pairs a GPU",
    "broke at",
    "p50 ms",
    "p99 ms",
    "panoramas/s",
    "of the bus",
    "of the GPU",
];

/// How many of the cells are words; the others are numbers.
pub(crate) const WORDS: usize = 5;

/// What the table needs to be understood.
pub(crate) const NOTE: &str = "Live pairs at once, each with a stitcher of its own: the most with which no pair was \
     dropped and the 99th percentile of the latency, from when frames were due until their panorama was read, stayed \
     within two frame intervals. Shares of bus and GPU are the time that the copies alone, and the stitches alone, \
     take, of all time.";

impl Scale {
    /// What of it cannot have been measured.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let Self { held, broke, median_us: median, p99_us: p99, .. } = self;
        let times = [*median, *p99, self.per_second, self.copies_us, self.stitch_us];
        match () {
            () if self.gpus == 0 => Some("it ran on a GPU"),
            () if !(self.fps.is_finite() && self.fps > 0.0) => Some("a rate is above 0"),
            () if times.iter().any(|time| !(time.is_finite() && *time >= 0.0)) => {
                Some("times and rates are not below 0")
            }
            () if median > p99 => Some("a median is at most the 99th percentile"),
            () if broke.is_some_and(|broke| broke <= *held) => {
                Some("what broke is more than what held")
            }
            () => None,
        }
    }

    /// Whether another one is the same measurement at another time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |scale: &Self| (scale.source, scale.panorama, scale.gpus, scale.fps.to_bits());
        (&self.on, &self.feed) == (&other.on, &other.feed) && key(self) == key(other)
    }

    /// The part of all time that so long for each pair on a GPU makes.
    fn share(&self, us: f64) -> f64 {
        f64::from(self.held) * self.fps * us / 1e6
    }

    /// Its row, in the order of [`HEAD`].
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
