//! The measurements of a run, for the verdict and for `--json`.

use panoweave::device::Counters;
use panoweave::live::LiveCounters;
use serde::Serialize;

use crate::sample::Sample;

/// The measurements at the end of a cycle.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Row {
    /// Seconds since the start.
    pub(crate) at: f64,
    /// Resources that the process held.
    pub(crate) sample: Sample,
    /// Maximum resident memory seen during the cycle.
    pub(crate) peak: u64,
    /// The stitcher's counters since the start.
    pub(crate) counters: LiveCounters,
    /// Frames that the cameras pushed.
    pub(crate) pushed: u64,
    /// Panoramas that the reader received.
    pub(crate) read: u64,
    /// Whether the colour correction still tracks changes in lighting.
    pub(crate) following: bool,
}

impl Row {
    /// Returns the number of frames that wait for a partner, and whether every other frame is in exactly one panorama
    /// or one counter of dropped frames.
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
    /// The measurements after the stitcher was closed and the reader had taken all panoramas.
    pub(crate) last: Row,
    /// Numbers of the library's live objects, before the stitcher was created and after it was dropped.
    pub(crate) objects: [Counters; 2],
    /// The error of the stitcher, of a camera or of the reader, if any.
    pub(crate) failure: Option<String>,
}
