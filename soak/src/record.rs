//! The measurements of a run, for the verdict and for `--json`.

use panoweave::device::Counters;
use panoweave::live::LiveCounters;
use serde::Serialize;

use crate::sample::Sample;

/// The measurement at the end of a cycle.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Row {
    /// Seconds since the start.
    pub(crate) at: f64,
    /// Resources held at the end.
    pub(crate) sample: Sample,
    /// Maximum resident memory seen during the cycle.
    pub(crate) peak: u64,
    /// The stitcher's counters since the start.
    pub(crate) counters: LiveCounters,
    /// Frames that the cameras pushed.
    pub(crate) pushed: u64,
    /// Panoramas that the reader received.
    pub(crate) read: u64,
    /// Whether the colour correction is following the light.
    pub(crate) following: bool,
}

impl Row {
    /// Returns the number of frames that wait for a partner, and whether all others are accounted for exactly once.
    pub(crate) fn balance(&self) -> (u64, bool) {
        let LiveCounters { frames_in, pairs, panoramas, dropped, .. } = self.counters;
        let gone = 2 * pairs + dropped.left_alone + dropped.right_alone;
        let out = panoramas + dropped.pairs() - dropped.unread;
        let read = self.read + dropped.unread;
        let balanced = frames_in == self.pushed && pairs == out && panoramas == read;
        (frames_in.saturating_sub(gone), balanced && gone <= frames_in)
    }
}

/// All measurements of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// One row per cycle.
    pub(crate) rows: Vec<Row>,
    /// The measurement after everything was closed and read to the end.
    pub(crate) last: Row,
    /// Live objects before the stitcher was made and after it was dropped.
    pub(crate) objects: [Counters; 2],
    /// The failure of the stitcher at the end, or of one of the soak's threads.
    pub(crate) failure: Option<String>,
}
