//! The result of measuring crowds: frames due, panoramas read, their latencies, and whether the crowds kept pace.

use std::time::Duration;

/// The result of measuring several crowds at once. A crowd is a set of live stitchers on one device.
#[derive(Debug)]
pub struct Outcome {
    /// The number of camera pairs per device.
    pub pairs: u32,
    /// The number of pairs of frames that were due during the measurement, of all crowds together.
    pub due: u64,
    /// The number of due pairs that were dropped because the feeding thread was late by more than a frame interval.
    pub late: u64,
    /// The duration of the measurement.
    pub measure: Duration,
    /// The average number of busy processor cores, or `None` if the system does not report it.
    pub cores: Option<f64>,
    /// The latencies of all panoramas that were read during the measurement, in ascending order.
    pub(super) latencies: Vec<Duration>,
}

impl Outcome {
    /// Returns the number of due pairs of frames whose panorama no reader got.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.due.saturating_sub(self.latencies.len() as u64)
    }

    /// Returns a quantile of the latency: `part` is a fraction from 0 to 1, such as 0.99 for the 99th percentile.
    /// Returns zero if no panorama was read.
    #[must_use]
    pub fn latency(&self, part: f64) -> Duration {
        let Some(last) = self.latencies.len().checked_sub(1) else { return Duration::ZERO };
        self.latencies[(part * last as f64).round() as usize]
    }

    /// Returns the number of panoramas per second, of all devices together.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.measure.as_secs_f64()
    }

    /// Returns the reason why the crowds did not keep pace with their cameras: dropped pairs, or a 99th percentile of
    /// the latency above `most`. Returns `None` if the crowds kept pace.
    #[must_use]
    pub fn fault(&self, most: Duration) -> Option<String> {
        let (dropped, p99) = (self.dropped(), self.latency(0.99));
        let late = match self.late {
            0 => String::new(),
            late => format!(", {late} of them because the feeding threads were late"),
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
