//! The measurements of a run. They determine whether the run passes, and `--json` writes them to a file.

use panoweave::device::Counters;
use panoweave::live::LiveCounters;
use serde::Serialize;

use crate::faults::Fault;
use crate::sample::Sample;

/// The measurements at the end of a cycle.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Time since the start of the run, in seconds.
    pub(crate) at: f64,
    /// Resources that the process held at this time.
    pub(crate) sample: Sample,
    /// The session's counters since the start of the run.
    pub(crate) counters: LiveCounters,
    /// Number of frames, of all cameras together, pushed since the start of the run.
    pub(crate) pushed: u64,
    /// Number of panoramas that the reader has received since the start of the run.
    pub(crate) read: u64,
    /// Whether the colour correction still tracks changes in lighting.
    pub(crate) following: bool,
}

impl Row {
    /// Returns the number of frames that still wait for the matching frame of the other camera, and whether the
    /// counters account for all other frames. A frame is accounted for if it was counted as dropped, or if it is in a
    /// panorama that the reader received or that was counted as unread.
    pub(crate) fn balance(&self) -> (u64, bool) {
        let LiveCounters { cameras, sets, panoramas, dropped, .. } = &self.counters;
        let frames_in = self.counters.frames_in();
        let used: u64 = cameras.iter().map(|camera| camera.used).sum();
        let gone = used + self.counters.frames_dropped();
        let out = panoramas + dropped.sets() - dropped.unread;
        let read = self.read + dropped.unread;
        let balanced = frames_in == self.pushed && *sets == out && *panoramas == read;
        (frames_in.saturating_sub(gone), balanced && gone <= frames_in)
    }
}

/// All measurements of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// One row per cycle.
    pub(crate) rows: Vec<Row>,
    /// The measurements at the end, after the session was closed and the reader had taken all panoramas.
    pub(crate) last: Row,
    /// Numbers of the library's live objects before the session was created, and after it was dropped.
    pub(crate) objects: [Counters; 2],
    /// The first error of the session, a camera or the reader; `None` if there was no error.
    pub(crate) failure: Option<String>,
    /// The number of random faults of each kind; empty without `--faults`.
    pub(crate) faults: Vec<(Fault, u64)>,
}
