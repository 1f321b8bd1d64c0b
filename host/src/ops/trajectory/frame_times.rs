//! The times of a video's frames, computed one by one, so that a long video takes no memory.

use std::ops::Range;

use super::{MAX_FRAMES, Trajectory, TrajectoryError};
use crate::frame::Rate;

/// The maximum tolerance for rounding errors in [`Trajectory::frame_times`], as a fraction of a frame.
const MAX_SLACK: f64 = 0.01;

/// An iterator over the times of frames in seconds; see [`Trajectory::frame_times`].
#[derive(Clone, Debug)]
pub struct FrameTimes {
    first: f64,
    last: f64,
    rate: Rate,
    frames: Range<u32>,
}

impl Trajectory {
    /// Returns the times of frames at `rate`: the first time plus n / rate, up to the last time. Each time is computed
    /// from n, so rounding errors do not accumulate. A small tolerance ensures that a frame exactly at the last time is
    /// not lost through rounding errors.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::TooLong`] for more than [`MAX_FRAMES`] frames.
    pub fn frame_times(&self, rate: Rate) -> Result<FrameTimes, TrajectoryError> {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let seconds = last - first;
        // An upper bound, in frames, for the rounding errors of the two times, of their difference, and of the number
        // of frames.
        let slack = 4.0 * f64::EPSILON * first.abs().max(last.abs()) * rate.per_second();
        let frames = (seconds * rate.per_second() + slack.min(MAX_SLACK)).floor() + 1.0;
        if frames > f64::from(MAX_FRAMES) {
            return Err(TrajectoryError::TooLong { seconds, frames, rate });
        }
        Ok(FrameTimes { first, last, rate, frames: 0..frames as u32 })
    }
}

impl Iterator for FrameTimes {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let n = self.frames.next()?;
        let (numerator, denominator) = self.rate.fraction();
        let after = (u64::from(n) * u64::from(denominator)) as f64 / f64::from(numerator);
        Some((self.first + after).min(self.last))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.frames.size_hint()
    }
}

impl ExactSizeIterator for FrameTimes {}
