//! Counters and latencies of a running stitcher.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of latencies in the percentiles: the newest ones.
const LATENCIES: usize = 4096;

/// Frames that did not become part of a panorama, and panoramas that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Unpaired frames of the left camera.
    pub left_alone: u64,
    /// Unpaired frames of the right camera.
    pub right_alone: u64,
    /// Pairs that came while every buffer was in use: the device is too slow.
    pub busy: u64,
    /// Pairs that came while the reader held every panorama.
    pub reader: u64,
    /// Finished panoramas that were discarded for newer ones: the reader is slow.
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

/// Counters since the start.
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
    /// Waits for a free buffer.
    pub slot_waits: u64,
    /// Colour analyses with a result.
    pub analyses: u64,
    /// Colour analyses of scenes too dark or too bright for an estimate.
    pub dark: u64,
    /// Failed analyses.
    pub strikes: u64,
    /// Moves of the seam, including its first placement.
    pub seam_moves: u64,
    /// Median of the time from a complete pair to its panorama in host memory, in seconds.
    pub latency_p50: f64,
    /// 99th percentile of the same time, in seconds.
    pub latency_p99: f64,
}

/// The running counters.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counters: LiveCounters,
    latencies: VecDeque<Duration>,
}

impl Default for Tally {
    fn default() -> Self {
        // The full capacity, because live stitching allocates at the start.
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

    /// Returns the counters and the latencies for [`LiveCounters::with_latencies`].
    pub(super) fn snapshot(&self) -> (LiveCounters, Vec<Duration>) {
        (self.counters, self.latencies.iter().copied().collect())
    }
}

impl LiveCounters {
    /// Adds the percentiles. It runs outside the lock that the frame threads take.
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
