//! What a run leaves behind, for the verdict and for `--json`.

use panoweave::device::Counters;
use panoweave::live::LiveCounters;
use serde::Serialize;

use crate::sample::Sample;

/// A cycle, and how all stood at its end.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Row {
    /// Seconds since the start.
    pub(crate) at: f64,
    /// Held at the end.
    pub(crate) sample: Sample,
    /// Most resident memory seen during the cycle.
    pub(crate) peak: u64,
    /// The stitcher's counters, since the start.
    pub(crate) counters: LiveCounters,
    /// Frames that the cameras pushed.
    pub(crate) pushed: u64,
    /// Panoramas that the reader got.
    pub(crate) read: u64,
    /// Whether colours follow the light.
    pub(crate) following: bool,
}

impl Row {
    /// Frames that wait for a partner, and whether everything else went exactly one known way.
    pub(crate) fn balance(&self) -> (u64, bool) {
        let LiveCounters { frames_in, pairs, panoramas, dropped, .. } = self.counters;
        let gone = 2 * pairs + dropped.left_alone + dropped.right_alone;
        let out = panoramas + dropped.pairs() - dropped.unread;
        let read = self.read + dropped.unread;
        let balanced = frames_in == self.pushed && pairs == out && panoramas == read;
        (frames_in.saturating_sub(gone), balanced && gone <= frames_in)
    }
}

/// All that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// One for each cycle.
    pub(crate) rows: Vec<Row>,
    /// After everything was closed and read to the end.
    pub(crate) last: Row,
    /// Live objects before the stitcher was made, and when it was gone.
    pub(crate) objects: [Counters; 2],
    /// Why the stitcher no longer worked at the end, or a thread of the soak ended.
    pub(crate) failure: Option<String>,
}
