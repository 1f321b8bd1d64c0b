//! Counters and latencies of a running session.

use std::collections::VecDeque;
use std::time::Duration;

/// The maximum number of recent panoramas from whose latencies the percentiles are computed.
const LATENCIES: usize = 4096;

/// Counts of sets of frames that did not become a panorama, and of panoramas that were not read. A set contains one
/// frame of each camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Sets that were dropped because all input buffers or tokens (which limit the sets in flight) were in use. The
    /// device is then too slow.
    pub busy: u64,
    /// Sets that were dropped because the reader held all panorama buffers.
    pub reader: u64,
    /// Finished panoramas that were discarded to make room for newer ones, because the reader is too slow.
    pub unread: u64,
    /// Sets that were dropped because the device rejected their submission, after up to three attempts.
    pub failed: u64,
    /// Sets that were not finished because the whole session failed, for instance because the device was lost.
    pub lost: u64,
    /// Sets and panoramas in flight when the session was dropped.
    pub closing: u64,
}

impl Dropped {
    /// Returns the number of complete sets that did not reach the reader.
    #[must_use]
    pub fn sets(&self) -> u64 {
        self.busy + self.reader + self.unread + self.failed + self.lost + self.closing
    }
}

/// Counters of one camera's frames. Each received frame waits, was used, or was dropped for one of the other reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CameraCounters {
    /// Frames received from the camera.
    pub frames_in: u64,
    /// Frames that became part of a set.
    pub used: u64,
    /// Sets that show the same frame of this camera as the set before.
    pub repeated: u64,
    /// Frames that no set needs, and frames out of order.
    pub unmatched: u64,
    /// Frames that arrived when the sets that could need them were already made without them.
    pub late: u64,
    /// Frames that were dropped because the camera was absent.
    pub absent: u64,
    /// Frames that were dropped because all input buffers of the camera were in use.
    pub unbuffered: u64,
}

impl CameraCounters {
    /// Returns the number of frames that are in no set.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.unmatched + self.late + self.absent + self.unbuffered
    }
}

/// Counters of a session since its creation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct LiveCounters {
    /// The counters of each camera's frames.
    pub cameras: Vec<CameraCounters>,
    /// The number of complete sets, which have one frame of each camera.
    pub sets: u64,
    /// The number of finished panoramas, including those that were discarded unread.
    pub panoramas: u64,
    /// The numbers of sets and panoramas that were dropped, for each reason.
    pub dropped: Dropped,
    /// The number of times a set was submitted again after a device error.
    pub retries: u64,
    /// The number of colour analyses that have finished.
    pub analyses: u64,
    /// The number of finished colour analyses that gave no estimate, because the scene was too dark or too bright.
    pub dark: u64,
    /// The number of failures of the colour and seam analysis. A missed deadline counts as a failure.
    pub strikes: u64,
    /// The number of times the seam was moved, including its first placement.
    pub seam_moves: u64,
    /// The total time, in seconds, that it took to submit the sets to the device. On the CPU, submitting a set computes
    /// the panorama.
    pub submitting: f64,
    /// The median latency of the latest 4096 panoramas, in seconds. The latency is the time from the arrival of the
    /// last frame of a set until the panorama is in host memory. The value is 0 before the first panorama.
    pub latency_p50: f64,
    /// The 99th percentile of the latencies of the latest 4096 panoramas, in seconds. 0 before the first panorama.
    pub latency_p99: f64,
}

/// The counters without those of the cameras, and the latencies of the latest panoramas.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counters: LiveCounters,
    latencies: VecDeque<Duration>,
}

impl Tally {
    pub(super) fn new() -> Self {
        // Allocate the memory at the start, so that counting a panorama allocates nothing.
        Self { counters: LiveCounters::default(), latencies: VecDeque::with_capacity(LATENCIES) }
    }

    pub(super) fn panorama(&mut self, latency: Duration) {
        self.counters.panoramas += 1;
        if self.latencies.len() == LATENCIES {
            self.latencies.pop_front();
        }
        self.latencies.push_back(latency);
    }

    /// Returns the counters without percentiles, and the latencies. Pass the latencies to
    /// [`LiveCounters::with_latencies`] to compute the percentiles.
    pub(super) fn snapshot(&self) -> (LiveCounters, Vec<Duration>) {
        (self.counters.clone(), self.latencies.iter().copied().collect())
    }
}

impl LiveCounters {
    /// Returns the number of frames received from all cameras together.
    #[must_use]
    pub fn frames_in(&self) -> u64 {
        self.cameras.iter().map(|camera| camera.frames_in).sum()
    }

    /// Returns the number of frames of all cameras that are in no set.
    #[must_use]
    pub fn frames_dropped(&self) -> u64 {
        self.cameras.iter().map(CameraCounters::dropped).sum()
    }

    /// Computes the percentiles from the latencies. Call this after releasing the lock of the [`Tally`], because
    /// sorting the latencies with the lock held would block the session's threads.
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
