//! Converts frames with timestamps to a constant rate, like ffmpeg's filter `fps`, by repeating and dropping frames.
//!
//! The frame number of a timestamp is its time after the first frame times the rate, rounded to the nearest integer.
//! Each output frame is the last input frame whose number is not larger than its own.

use crate::frame::Rate;

/// The number of ticks per second of all timestamps, as in MPEG-TS.
pub(super) const TICKS: u32 = 90_000;

/// The longest gap between two frames, in seconds, that repeated frames fill. A camera may pause for minutes, but
/// setting the clock of a recording camera can make a gap of years.
pub(super) const MAX_HOLE: u32 = 600;

/// The conversion of one video. `F` is a handle to a frame.
pub(super) struct ConstantRate<F> {
    rate: Rate,
    /// The timestamp of the first frame in ticks.
    first: Option<i64>,
    /// The timestamp of the latest frame.
    last: i64,
    /// The latest frame, whose copies are output when the next frame arrives.
    held: Option<F>,
    /// A frame, and the number of its copies that must still be output.
    due: Option<(F, u64)>,
    /// The number of output frames, including those that are due.
    frames: u64,
}

impl<F: Clone> ConstantRate<F> {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, first: None, last: 0, held: None, due: None, frames: 0 }
    }

    /// Returns the next output frame, or `None` if the next input frame is needed first.
    pub(super) fn next(&mut self) -> Option<F> {
        let (frame, copies) = self.due.take()?;
        if copies > 1 {
            self.due = Some((frame.clone(), copies - 1));
        }
        Some(frame)
    }

    /// Adds the next input frame, whose timestamp is in ticks. Call this only after [`next`](Self::next) has returned
    /// `None`.
    ///
    /// Returns the gap in seconds if it is longer than [`MAX_HOLE`], negative for a jump backwards. Then, the frame is
    /// not added.
    pub(super) fn push(&mut self, frame: F, timestamp: i64) -> Result<(), f64> {
        let gap = timestamp.saturating_sub(self.last);
        if self.first.is_some() && gap.unsigned_abs() > u64::from(MAX_HOLE * TICKS) {
            return Err(gap as f64 / f64::from(TICKS));
        }
        let first = *self.first.get_or_insert(timestamp);
        self.last = timestamp;
        self.output_until(self.number(timestamp - first));
        self.held = Some(frame);
        Ok(())
    }

    /// Ends the video. The last frame lasts until `duration` ticks after its timestamp. Outputs at least one frame if
    /// there was any.
    pub(super) fn end(&mut self, duration: i64) {
        let end = self.number(self.last - self.first.unwrap_or(self.last) + duration);
        self.output_until(end.max(i64::from(self.frames == 0)));
        self.held = None;
    }

    /// Makes copies of the held frame due, so that the number of output frames is `number`.
    fn output_until(&mut self, number: i64) {
        let copies = u64::try_from(number).unwrap_or(0).saturating_sub(self.frames);
        if let Some(held) = self.held.take().filter(|_| copies > 0) {
            self.due = Some((held, copies));
            self.frames += copies;
        }
    }

    /// Returns the frame number of a time in ticks, rounded to the nearest integer, and half away from zero.
    fn number(&self, ticks: i64) -> i64 {
        let (per, seconds) = self.rate.fraction();
        let (scaled, one) =
            (i128::from(ticks) * i128::from(per), i128::from(TICKS) * i128::from(seconds));
        let rounded = (2 * scaled.abs() + one) / (2 * one);
        i64::try_from(rounded * scaled.signum()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts frames at the given milliseconds, and returns the index of the input frame of each output frame.
    fn convert(rate: &str, millis: &[i64]) -> Vec<usize> {
        let mut pace = ConstantRate::new(rate.parse().unwrap());
        let mut output = Vec::new();
        for (index, millis) in millis.iter().enumerate() {
            pace.push(index, millis * 90 + 7777).unwrap();
            output.extend(std::iter::from_fn(|| pace.next()));
        }
        pace.end(9000);
        output.extend(std::iter::from_fn(|| pace.next()));
        output
    }

    #[test]
    fn a_constant_rate_is_kept_despite_rounded_timestamps() {
        assert_eq!(convert("10", &[0, 101, 199, 300, 402]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn frames_are_repeated_and_dropped() {
        assert_eq!(convert("20", &[0, 100]), [0, 0, 1, 1]);
        assert_eq!(convert("5", &[0, 100, 200, 300, 400, 500]), [0, 2, 4]);
        assert_eq!(convert("10", &[0, 100, 500, 600]), [0, 1, 1, 1, 1, 2, 3]);
    }

    #[test]
    fn small_steps_backwards_lose_only_the_frame_before() {
        assert_eq!(convert("10", &[0, 100, 90, 200, 300]), [0, 2, 3, 4]);
    }

    #[test]
    fn a_single_frame_is_output_at_any_rate() {
        assert_eq!(convert("1", &[0]), [0]);
        assert_eq!(convert("30", &[0]), [0, 0, 0]);
    }

    #[test]
    fn long_gaps_are_reported_in_both_directions() {
        let mut pace = ConstantRate::new("30".parse().unwrap());
        pace.push('a', 0).unwrap();
        assert_eq!(pace.push('b', 601 * 90_000), Err(601.0));
        assert_eq!(pace.push('b', -601 * 90_000), Err(-601.0));
        pace.push('b', 600 * 90_000).unwrap();
        assert_eq!(std::iter::from_fn(|| pace.next()).count(), 18_000);
    }
}
