//! The clock of a camera, estimated from timestamps and arrival times.
//!
//! A frame arrives when it was captured plus a latency: a constant part, and jitter that is never negative. In the
//! units of the camera's clock, `arrival − timestamp = offset + drift · timestamp + latency + jitter`. The smallest
//! values in each half second have little jitter. A robust line through the smallest values of the last minute
//! (Theil–Sen: the median of the slopes of all pairs of points) gives offset and drift, even if up to a quarter of them
//! are wrong.
//!
//! A clock that is set changes all later values by the same amount. The estimate restarts if the last points agree with
//! each other and lie on one side of the line through the older points, by more than the older points vary. Congestion
//! can look the same, but it changes the intervals between arrivals, and a step back shortens an interval between
//! timestamps. Therefore points above the line count only if an interval between timestamps was irregular. Points below
//! the line need no such sign, because no frame arrives before it was captured.
//!
//! The bins divide the time of arrival. If a connection stalls and then delivers many frames at once, the last of them,
//! which is on time, gives the point.
//!
//! The constant part of the latency cannot be told from an offset of the clock. If two cameras have different
//! latencies, their corrected timestamps differ by that difference. It takes a set offset, or sight of one event in
//! both cameras, to remove it.

use std::collections::VecDeque;
use std::time::Duration;

use super::STEP;

/// The length of a bin in seconds of arrival. Each bin gives one point: its frame with the least latency.
const BIN: f64 = 0.5;

/// The largest number of points for a fit: one minute.
const POINTS: usize = 120;

/// The number of points from which the drift is estimated. With fewer points, it is taken to be 0.
const FEWEST: usize = 8;

/// The number of latest points that show a step of the clock. With the bin in which the clock was set, they take 2 to
/// 3 seconds.
const RECENT: usize = 4;

/// The smallest step that is noticed, in median deviations of the points (scaled to standard deviations). The least
/// latencies of half a second are roughly exponentially distributed. Four of them in a row exceed this limit by chance
/// with a probability of about 2·10⁻⁷.
const STEP_DEVIATIONS: f64 = 6.0;

/// The number of points for which an irregular interval between timestamps is remembered. Points with much jitter can
/// delay the decision.
const MEMORY: usize = 2 * RECENT;

/// The smallest step that is noticed, in seconds, for a pairing with a small tolerance.
const LEAST_STEP: f64 = 1e-3;

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
    /// The median deviation of the points from the line, scaled to a standard deviation, in seconds.
    deviation: f64,
    /// Half the width of the 95 % interval of the line at its end, in seconds.
    uncertainty: f64,
}

/// Estimates offset and drift of one camera's clock against the host's clock. It uses bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The first timestamp, and `arrival − timestamp` of the first frame in nanoseconds.
    origin: Option<(Duration, i128)>,
    /// The timestamp of the frame that arrived last.
    latest: Duration,
    /// The number of points since the last irregular interval between two timestamps.
    regular: usize,
    /// The points of complete bins.
    points: VecDeque<Point>,
    /// The end of the current bin as a time of arrival, its best point, and its largest lateness.
    bin: Option<(f64, Point, f64)>,
    line: Line,
}

impl Clock {
    /// Adds a frame with its timestamp and its arrival on the host's clock. A frame that is not later than the frame
    /// that arrived before it gives no point. If the camera's clock was set, the estimate starts again. `least_step` is
    /// the smallest step in seconds that matters, and `frame_time` is `None` before the second frame.
    ///
    /// Returns whether a step was noticed only after the clock has mapped frames with the old estimate.
    pub(super) fn add(
        &mut self,
        timestamp: Duration,
        arrival: Duration,
        frame_time: Option<Duration>,
        least_step: f64,
    ) -> bool {
        let apart = arrival.as_nanos() as i128 - timestamp.as_nanos() as i128;
        if let Some((first, first_apart)) = self.origin {
            let before = std::mem::replace(&mut self.latest, timestamp);
            let was_set_back = timestamp.saturating_add(STEP) < before;
            let late = (apart - first_apart) as f64 * 1e-9;
            let at = timestamp.as_secs_f64() - first.as_secs_f64();
            if was_set_back || late < self.line.value(at) - STEP.as_secs_f64() {
                *self = Self::default();
            } else {
                let interval = timestamp.as_secs_f64() - before.as_secs_f64();
                let frame_time = frame_time.unwrap_or_default().as_secs_f64();
                if !is_regular(interval, frame_time, least_step / 2.0) {
                    self.regular = 0;
                }
                if timestamp <= before {
                    return false;
                }
            }
        }
        let (first, first_apart) = *self.origin.get_or_insert((timestamp, apart));
        self.latest = timestamp;
        // A clock that was set back by less than `STEP` can be before its first timestamp.
        let at = (timestamp.as_nanos() as i128 - first.as_nanos() as i128) as f64 * 1e-9;
        let late = (apart - first_apart) as f64 * 1e-9;
        self.add_point(Point { at, late }, least_step)
    }

    fn add_point(&mut self, point: Point, least_step: f64) -> bool {
        let arrival = point.at + point.late;
        let mut has_stepped = false;
        if let Some((end, best, most)) = &mut self.bin
            && arrival < *end
        {
            *most = most.max(point.late);
            if point.late < best.late {
                *best = point;
            }
        } else if let Some((_, best, _)) = self.bin.replace((arrival + BIN, point, point.late)) {
            if self.points.len() == POINTS {
                self.points.pop_front();
            }
            self.points.push_back(best);
            self.regular += 1;
            has_stepped = self.fit(least_step);
        }
        if self.points.is_empty()
            && let Some((_, best, most)) = self.bin
        {
            let uncertainty = most - best.late;
            self.line = Line { from: best.at, level: best.late, uncertainty, ..Line::default() };
        }
        has_stepped
    }

    /// Fits the line to the points, or only to the latest points if they show that the clock was set. Returns whether
    /// they do.
    fn fit(&mut self, least_step: f64) -> bool {
        let points = self.points.make_contiguous();
        let (old, recent) = points.split_at(points.len().saturating_sub(RECENT));
        let has_stepped = old.len() >= RECENT
            && Line::fit(old).is_left_by(recent, least_step, self.regular <= MEMORY);
        let used = if has_stepped { recent } else { points };
        self.line = Line::fit(used);
        if has_stepped {
            self.points.drain(..self.points.len() - RECENT);
        }
        has_stepped
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
    /// Fits a line to at least one point.
    fn fit(points: &[Point]) -> Self {
        let (count, end) = (points.len() as f64, points[points.len() - 1].at);
        let mut drift = 0.0;
        if points.len() >= FEWEST {
            let pairs = points.iter().enumerate();
            // After the clock was set back, a point can be earlier than the points before it. Such a pair has no slope.
            let mut slopes: Vec<f64> = pairs
                .flat_map(|(i, a)| {
                    let before = points[..i].iter().filter(|b| b.at < a.at);
                    before.map(move |b| (a.late - b.late) / (a.at - b.at))
                })
                .collect();
            if !slopes.is_empty() {
                drift = quantile(&mut slopes, 0.5).clamp(-MOST_DRIFT, MOST_DRIFT);
            }
        }
        let mut levels: Vec<f64> =
            points.iter().map(|point| point.late - drift * (point.at - end)).collect();
        let (least, level) = (quantile(&mut levels, 0.0), quantile(&mut levels, 0.25));
        let mut deviations: Vec<f64> = levels.iter().map(|other| (other - level).abs()).collect();
        // For normal errors, the median deviation is 0.6745 standard deviations.
        let deviation = quantile(&mut deviations, 0.5) / 0.6745;
        let centre = points.iter().map(|point| point.at).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|point| (point.at - centre).powi(2)).sum();
        let has_lever = points.len() >= FEWEST && spread > 0.0;
        let lever = if has_lever { (end - centre).powi(2) / spread } else { 1.0 };
        let uncertainty = 2.0 * deviation * (1.0 / count + lever).sqrt() + level - least;
        Self { from: end, level, drift, deviation, uncertainty }
    }

    /// Returns whether later points show a step: all lie on one side of the line, farther away than the points of the
    /// line explain, and they differ from each other by no more than these. If
    /// `can_be_above` is false, points above the line show no step.
    fn is_left_by(&self, points: &[Point], least_step: f64, can_be_above: bool) -> bool {
        let spread = (STEP_DEVIATIONS * self.deviation).max(least_step / 2.0).max(LEAST_STEP);
        let limit = spread.max(least_step);
        let apart = points.iter().map(|point| point.late - self.value(point.at));
        let (least, most) = apart
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), apart| {
                (least.min(apart), most.max(apart))
            });
        ((can_be_above && least > limit) || most < -limit) && most - least <= spread
    }

    fn value(&self, at: f64) -> f64 {
        self.level + self.drift * (at - self.from)
    }
}

/// Returns whether an interval between two timestamps is one frame time, or a multiple of it because frames were lost.
/// All values are in seconds. After a pause of a second or more, the camera may have restarted with another time.
fn is_regular(interval: f64, frame_time: f64, error: f64) -> bool {
    let frames = (interval / frame_time).round().max(1.0);
    interval < STEP.as_secs_f64() && (interval - frames * frame_time).abs() < error
}

/// Returns the value below which `part` of the values lie. Reorders the values, of which there is at least one.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    let at = (part * (values.len() - 1) as f64) as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
