//! What was seen of a crowd: what was due, what was read of it, how late, and whether that was keeping pace.

use std::time::Duration;

/// What was seen of a crowd.
#[derive(Debug)]
pub struct Outcome {
    /// Pairs of cameras on each device.
    pub pairs: u32,
    /// Pairs of frames that were due.
    pub due: u64,
    /// Of those that were dropped: since the thread that feeds was late by a frame interval.
    pub late: u64,
    /// How long was watched.
    pub measure: Duration,
    /// How many processor cores were busy with it.
    pub cores: Option<f64>,
    /// Latencies of the panoramas that were read, sorted.
    pub(super) latencies: Vec<Duration>,
}

impl Outcome {
    /// Pairs of frames that did not become a panorama that was read.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.due.saturating_sub(self.latencies.len() as u64)
    }

    /// The latency that this part of the panoramas do not exceed; zero if there is none.
    #[must_use]
    pub fn latency(&self, part: f64) -> Duration {
        let Some(last) = self.latencies.len().checked_sub(1) else { return Duration::ZERO };
        self.latencies[(part * last as f64).round() as usize]
    }

    /// Panoramas a second, of all devices together.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.measure.as_secs_f64()
    }

    /// How the crowd did not keep pace, if latencies may be so long; `None` if it did.
    #[must_use]
    pub fn fault(&self, most: Duration) -> Option<String> {
        let (dropped, p99) = (self.dropped(), self.latency(0.99));
        let late = match self.late {
            0 => String::new(),
            late => format!(", {late} of them since the threads that feed were late"),
        };
        match () {
            () if dropped > 0 => {
                Some(format!("{dropped} of {} pairs were dropped{late}", self.due))
            }
            () if p99 > most => {
                let [p99, most] = [p99, most].map(|time| 1e3 * time.as_secs_f64());
                Some(format!("p99 is {p99:.1} ms, over {most:.1} ms"))
            }
            () => None,
        }
    }
}
