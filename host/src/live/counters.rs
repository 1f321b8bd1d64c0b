//! What a running stitcher counts, and how long its panoramas take.

use std::collections::VecDeque;
use std::time::Duration;

/// Latencies that percentiles are taken of: the newest so many.
const LATENCIES: usize = 4096;

/// Frames that did not become part of a panorama, and panoramas that nobody took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Frames of the left camera without a partner.
    pub left_alone: u64,
    /// Frames of the right camera without a partner.
    pub right_alone: u64,
    /// Pairs that came while every buffer was in use: the device does not keep the pace.
    pub busy: u64,
    /// Pairs that came while the reader held every panorama.
    pub reader: u64,
    /// Panoramas that were finished but given up for newer ones, since the reader is slow.
    pub unread: u64,
    /// Pairs that the device failed on, several times.
    pub failed: u64,
    /// Pairs that were under way when the device was lost.
    pub lost: u64,
    /// Pairs and panoramas that were under way when the stitcher was dropped.
    pub closing: u64,
}

impl Dropped {
    /// Pairs that were complete and did not reach the reader.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.busy + self.reader + self.unread + self.failed + self.lost + self.closing
    }
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LiveCounters {
    /// Frames that came in, of both cameras.
    pub frames_in: u64,
    /// Complete pairs.
    pub pairs: u64,
    /// Panoramas finished.
    pub panoramas: u64,
    /// What was dropped, by reason.
    pub dropped: Dropped,
    /// Times that a pair was submitted again after the device failed.
    pub retries: u64,
    /// Times that somebody had to wait for a free buffer.
    pub slot_waits: u64,
    /// Colour analyses that gave a result.
    pub analyses: u64,
    /// Colour analyses of scenes too dark, or too bright, to say anything.
    pub dark: u64,
    /// Failures of the analysis.
    pub strikes: u64,
    /// Times that the seam moved, its first place included.
    pub seam_moves: u64,
    /// From a complete pair to its panorama in host memory: half are faster, in seconds.
    pub latency_p50: f64,
    /// As `latency_p50`; 99 of 100 are faster.
    pub latency_p99: f64,
}

/// The counters while they count.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counters: LiveCounters,
    latencies: VecDeque<Duration>,
}

impl Default for Tally {
    fn default() -> Self {
        // All that there will be: live video allocates at the start.
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

    /// The counters so far, and the latencies for [`LiveCounters::with_latencies`].
    pub(super) fn snapshot(&self) -> (LiveCounters, Vec<Duration>) {
        (self.counters, self.latencies.iter().copied().collect())
    }
}

impl LiveCounters {
    /// With their percentiles; apart from the tally, whose lock the frames' threads take.
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
