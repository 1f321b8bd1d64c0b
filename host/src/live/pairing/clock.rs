//! The clock of a camera, estimated from timestamps and arrival times.
//!
//! A frame arrives when it was captured plus a latency: a constant part, and jitter that is never negative. In the
//! units of the camera's clock, `arrival − timestamp = offset + drift · timestamp + latency + jitter`. The smallest
//! values in each half second have little jitter. A robust line through the smallest values of the last minute
//! (Theil–Sen: the median of the slopes of all pairs of points) gives offset and drift, even if up to a quarter of them
//! are wrong.
//!
//! The constant part of the latency cannot be told from an offset of the clock. If two cameras have different
//! latencies, their corrected timestamps differ by that difference. It takes a set offset, or sight of one event in
//! both cameras, to remove it.

use std::collections::VecDeque;
use std::time::Duration;

use super::STEP;

/// The length of a bin in seconds. Each bin gives one point: its frame with the least latency.
const BIN: f64 = 0.5;

/// The largest number of points for a fit: one minute.
const POINTS: usize = 120;

/// The number of points from which the drift is estimated. With fewer points, it is taken to be 0.
const FEWEST: usize = 8;

/// The largest drift of a camera's clock in seconds per second. Larger slopes are latencies that grow or shrink.
const MOST_DRIFT: f64 = 1e-3;

/// A frame: seconds since the first timestamp, and the growth of `arrival − timestamp` since the first frame in
/// seconds.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: f64,
    late: f64,
}

/// A line `late = level + drift · (at − from)`.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    from: f64,
    level: f64,
    drift: f64,
    /// Half the width of the 95 % interval of the line at its end, in seconds.
    uncertainty: f64,
}

/// Estimates offset and drift of one camera's clock against the host's clock. It uses bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The first timestamp, and `arrival − timestamp` of the first frame in nanoseconds.
    origin: Option<(Duration, i128)>,
    newest: Duration,
    /// The points of complete bins.
    points: VecDeque<Point>,
    /// The end of the current bin, its best point, and its largest lateness.
    bin: Option<(f64, Point, f64)>,
    line: Line,
}

impl Clock {
    /// Adds a frame with its timestamp and its arrival on the host's clock. A frame out of order is ignored. If the
    /// camera's clock was set, the estimate starts again.
    pub(super) fn add(&mut self, timestamp: Duration, arrival: Duration) {
        let apart = arrival.as_nanos() as i128 - timestamp.as_nanos() as i128;
        if let Some((first, first_apart)) = self.origin {
            let was_set_back = timestamp.saturating_add(STEP) < self.newest;
            let late = (apart - first_apart) as f64 * 1e-9;
            let at = timestamp.as_secs_f64() - first.as_secs_f64();
            if was_set_back || late < self.line.value(at) - STEP.as_secs_f64() {
                *self = Self::default();
            } else if timestamp <= self.newest {
                return;
            }
        }
        let (first, first_apart) = *self.origin.get_or_insert((timestamp, apart));
        self.newest = timestamp;
        let at = (timestamp - first.min(timestamp)).as_secs_f64();
        self.add_point(Point { at, late: (apart - first_apart) as f64 * 1e-9 });
    }

    fn add_point(&mut self, point: Point) {
        if let Some((end, best, most)) = &mut self.bin
            && point.at < *end
        {
            *most = most.max(point.late);
            if point.late < best.late {
                *best = point;
            }
        } else {
            if let Some((_, best, _)) = self.bin.replace((point.at + BIN, point, point.late)) {
                if self.points.len() == POINTS {
                    self.points.pop_front();
                }
                self.points.push_back(best);
                self.fit();
            }
        }
        if self.points.is_empty()
            && let Some((_, best, most)) = self.bin
        {
            let uncertainty = most - best.late;
            self.line = Line { from: best.at, level: best.late, drift: 0.0, uncertainty };
        }
    }

    /// Fits the line to the points.
    fn fit(&mut self) {
        let points: Vec<Point> = self.points.iter().copied().collect();
        let (count, end) = (points.len() as f64, points[points.len() - 1].at);
        let mut drift = 0.0;
        if points.len() >= FEWEST {
            let pairs = points.iter().enumerate();
            let mut slopes: Vec<f64> = pairs
                .flat_map(|(i, a)| {
                    points[..i].iter().map(move |b| (a.late - b.late) / (a.at - b.at))
                })
                .collect();
            drift = quantile(&mut slopes, 0.5).clamp(-MOST_DRIFT, MOST_DRIFT);
        }
        let mut levels: Vec<f64> =
            points.iter().map(|point| point.late - drift * (point.at - end)).collect();
        let (least, level) = (quantile(&mut levels, 0.0), quantile(&mut levels, 0.25));
        let mut deviations: Vec<f64> = levels.iter().map(|other| (other - level).abs()).collect();
        // For normal errors, the median deviation is 0.6745 standard deviations.
        let deviation = quantile(&mut deviations, 0.5) / 0.6745;
        let centre = points.iter().map(|point| point.at).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|point| (point.at - centre).powi(2)).sum();
        let lever = if points.len() >= FEWEST { (end - centre).powi(2) / spread } else { 1.0 };
        let uncertainty = 2.0 * deviation * (1.0 / count + lever).sqrt() + level - least;
        self.line = Line { from: end, level, drift, uncertainty };
    }

    /// Returns the time on the host's clock at which a frame with this timestamp would arrive without jitter, or `None`
    /// before the first frame.
    pub(super) fn host_time(&self, timestamp: Duration) -> Option<Duration> {
        let nanos = timestamp.as_nanos() as i128 + self.offset_nanos(timestamp)?;
        Some(Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)))
    }

    /// Returns the time that the host's clock is ahead of this clock at `timestamp`, in nanoseconds.
    pub(super) fn offset_nanos(&self, timestamp: Duration) -> Option<i128> {
        let (first, first_apart) = self.origin?;
        let late = self.line.value(timestamp.as_secs_f64() - first.as_secs_f64());
        Some(first_apart + (late * 1e9).round() as i128)
    }

    /// Returns how much faster than this clock the host's clock runs, in seconds per second.
    pub(super) fn drift(&self) -> f64 {
        self.line.drift
    }

    /// Returns half the width of the 95 % interval of the offset in seconds, without the constant latency.
    pub(super) fn uncertainty(&self) -> f64 {
        self.line.uncertainty
    }
}

impl Line {
    fn value(&self, at: f64) -> f64 {
        self.level + self.drift * (at - self.from)
    }
}

/// Returns the value below which `part` of the values lie. Reorders the values, of which there is at least one.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    let at = (part * (values.len() - 1) as f64) as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
