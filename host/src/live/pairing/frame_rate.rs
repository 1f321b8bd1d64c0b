//! The frame time of a camera, measured from its timestamps.
//!
//! Two figures serve two purposes. The median of the last few intervals limits the tolerance: one lost frame or a burst
//! of two frames does not change it, and it follows a new rate at once. The mean over many frames tells two rates
//! apart: jitter of single timestamps cancels out.

use std::time::Duration;

/// The number of recent intervals whose median is the frame time.
const RECENT: usize = 9;

/// The number of recent intervals whose mean is the rate.
const KEPT: usize = 64;

/// The least number of intervals for a rate.
const FEWEST: usize = 24;

/// The largest median deviation of the intervals, as a part of the frame time, for which the camera has a rate. A
/// camera with triggers at random times has none.
const UNEVEN: f64 = 0.1;

/// The largest distance of an interval from a multiple of the frame time, as a part of the frame time.
const MULTIPLE: f64 = 0.35;

/// Measures the frame time of a camera.
#[derive(Clone, Debug)]
pub(super) struct FrameRate {
    /// A ring buffer of the latest intervals between frames.
    intervals: [Duration; KEPT],
    count: usize,
}

impl Default for FrameRate {
    fn default() -> Self {
        Self { intervals: [Duration::ZERO; KEPT], count: 0 }
    }
}

impl FrameRate {
    pub(super) fn add(&mut self, interval: Duration) {
        self.intervals[self.count % KEPT] = interval;
        self.count += 1;
    }

    /// Returns the lower median of the latest intervals between frames, or `None` before the second frame.
    pub(super) fn frame_time(&self) -> Option<Duration> {
        let mut recent = [Duration::ZERO; RECENT];
        let known = &mut recent[..self.count.min(RECENT)];
        for (i, interval) in known.iter_mut().enumerate() {
            *interval = self.intervals[(self.count - 1 - i) % KEPT];
        }
        known.sort_unstable();
        known.get(known.len().saturating_sub(1) / 2).copied()
    }

    /// Returns the frame time as if no frames were lost, or `None` before the second frame: the mean of a camera with a
    /// steady rate, otherwise the median of the latest intervals, which doubles if many frames are lost.
    pub(super) fn nominal(&self) -> Option<Duration> {
        let mean = self.mean().and_then(|(time, _)| Duration::try_from_secs_f64(time).ok());
        mean.or_else(|| self.frame_time())
    }

    /// Returns the mean frame time and its possible error, both in seconds. An interval of about three frame times
    /// counts as three frames; an interval that is no multiple of the frame time does not count. Returns `None` before
    /// the 25th frame and for a camera without a steady rate.
    pub(super) fn mean(&self) -> Option<(f64, f64)> {
        let count = self.count.min(KEPT);
        if count < FEWEST {
            return None;
        }
        let mut values: Vec<f64> =
            self.intervals[..count].iter().map(Duration::as_secs_f64).collect();
        let median = *values.select_nth_unstable_by(count / 2, f64::total_cmp).1;
        let (mut time, mut frames) = (0.0, 0.0);
        for value in &mut values {
            let multiple = (*value / median).round();
            if (*value - multiple * median).abs() <= MULTIPLE * median {
                (time, frames) = (time + *value, frames + multiple);
            }
            *value = (*value - median).abs();
        }
        let deviation = *values.select_nth_unstable_by(count / 2, f64::total_cmp).1;
        // The jitter of all timestamps but the first and the last cancels out. Four deviations of one of these two are
        // a safe limit.
        (deviation <= UNEVEN * median).then(|| (time / frames, 4.0 * deviation / frames))
    }
}
