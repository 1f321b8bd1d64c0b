//! Counters and latencies of a running stitcher.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of latencies that the percentiles cover, counted back from the newest.
const LATENCIES: usize = 4096;

/// Counts of frames that did not become part of a panorama, and of panoramas that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Frames of the left camera without a partner.
    pub left_alone: u64,
    /// Frames of the right camera without a partner.
    pub right_alone: u64,
    /// Pairs that arrived while all input buffers were in use: the device is too slow.
    pub busy: u64,
    /// Pairs that arrived while the reader held all panorama buffers.
    pub reader: u64,
    /// Finished panoramas that were discarded to make room for newer ones: the reader is too slow.
    pub unread: u64,
    /// Pairs that the device rejected several times.
    pub failed: u64,
    /// Pairs in flight when the device was lost.
    pub lost: u64,
    /// Pairs and panoramas in flight when the stitcher was dropped.
    pub closing: u64,
}

impl Dropped {
    /// Returns the number of complete pairs that did not reach the reader.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.busy + self.reader + self.unread + self.failed + self.lost + self.closing
    }
}

/// Counters of a stitcher since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LiveCounters {
    /// Received frames of both cameras.
    pub frames_in: u64,
    /// Complete pairs.
    pub pairs: u64,
    /// Finished panoramas.
    pub panoramas: u64,
    /// Dropped frames, pairs and panoramas, by reason.
    pub dropped: Dropped,
    /// Repeated submissions of a pair after a device error.
    pub retries: u64,
    /// Waits for a free buffer or for the other camera's frame.
    pub slot_waits: u64,
    /// Colour analyses with a result.
    pub analyses: u64,
    /// Colour analyses of scenes too dark or too bright for an estimate.
    pub dark: u64,
    /// Failures of the colour and seam analysis, including missed deadlines.
    pub strikes: u64,
    /// Moves of the seam, including its first placement.
    pub seam_moves: u64,
    /// The median latency in seconds: the time from a complete pair to its panorama in host memory.
    pub latency_p50: f64,
    /// The 99th percentile of the latency in seconds.
    pub latency_p99: f64,
}

/// The counters and the latest latencies.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counters: LiveCounters,
    latencies: VecDeque<Duration>,
}

impl Default for Tally {
    fn default() -> Self {
        // Live stitching allocates all memory at the start.
        let latencies = VecDeque::with_capacity(LATENCIES);
        Self { counters: LiveCounters::default(), latencies }
    }
}

impl Tally {
    pub(super) fn panorama(&mut self, latency: Duration) {
        self.counters.panoramas += 1;
        if self.latencies.len() == LATENCIES {
            self.latencies.pop_front();
        }
        self.latencies.push_back(latency);
    }

    /// Returns the counters, whose percentiles are not set, and the latencies for [`LiveCounters::with_latencies`].
    pub(super) fn snapshot(&self) -> (LiveCounters, Vec<Duration>) {
        (self.counters, self.latencies.iter().copied().collect())
    }
}

impl LiveCounters {
    /// Sets the percentiles. The sorting must not block the stitcher's threads, so call it without the tally's lock.
    pub(super) fn with_latencies(self, mut latencies: Vec<Duration>) -> Self {
        let mut percentile = |part: f64| {
            let Some(last) = latencies.len().checked_sub(1) else {
                return 0.0;
            };
            let at = (part * last as f64).round() as usize;
            latencies.select_nth_unstable(at).1.as_secs_f64()
        };
        let (latency_p50, latency_p99) = (percentile(0.5), percentile(0.99));
        Self { latency_p50, latency_p99, ..self }
    }
}
