//! Decides when a seam moves: rarely and slowly.
//!
//! There is no clock and no thread: one call is one frame.

use shared_types::seam::{BASE, SeamCosts};

/// A better path costs at most this fraction of the current one.
pub const KEEP: f32 = 0.8;

/// Minimum gain of a better path per row of cells: half the cost of a row on which both cameras agree.
pub const LEAST_GAIN: u32 = BASE;

/// The number of consecutive searches that must find a better path. A flash, or a camera that is late by a frame,
/// moves nothing.
pub const CONFIRM: u32 = 2;

/// Frames of a fade from one path to the next.
pub const FADE: u32 = 12;

/// A seam over time: compares the costs of each search, and counts the frames of a fade.
#[derive(Clone, Debug, Default)]
pub struct SeamTracker {
    /// Whether there is a path.
    begun: bool,
    /// Consecutive searches that found a better path.
    better: u32,
    /// Frames of the fade so far, up to [`FADE`]; `None` at rest.
    fade: Option<u32>,
}

impl SeamTracker {
    /// Adds the result of a search on a grid of `rows` rows, and returns whether the seam moves to it.
    ///
    /// The first path is accepted at once. During a fade no path is.
    pub fn observe(&mut self, costs: SeamCosts, rows: u32) -> bool {
        if self.fade.is_some() {
            return false;
        }
        let SeamCosts { best, current, .. } = costs;
        let enough = current.saturating_sub(best) >= LEAST_GAIN.saturating_mul(rows);
        let clear = f64::from(best) <= f64::from(KEEP) * f64::from(current) && enough;
        self.better = if clear { self.better + 1 } else { 0 };
        let moves = !self.begun || self.better >= CONFIRM;
        if moves {
            *self = Self { begun: true, better: 0, fade: Some(0) };
        }
        moves
    }

    /// Returns whether there is no path yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !self.begun
    }

    /// Returns whether a search is useful now: not during a fade.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.fade.is_none()
    }

    /// Returns the progress of the fade in the next frame, over 0 and up to 1; `None` at rest, where the weights stay.
    /// Call it once per frame.
    pub fn advance(&mut self) -> Option<f32> {
        let frame = self.fade? + 1;
        self.fade = (frame < FADE).then_some(frame);
        Some(frame as f32 / FADE as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u32 = 100;

    fn costs(best: u32, current: u32) -> SeamCosts {
        SeamCosts { best, breaches: 0, current }
    }

    /// Returns a tracker with a path, at rest.
    fn at_rest() -> SeamTracker {
        let mut tracker = SeamTracker::default();
        assert!(tracker.observe(costs(7000, 0), ROWS), "the first path is taken");
        while tracker.advance().is_some() {}
        tracker
    }

    #[test]
    fn a_fade_has_its_length_and_ends_whole() {
        let mut tracker = SeamTracker::default();
        assert_eq!(tracker.advance(), None);
        assert!(tracker.observe(costs(7000, 0), ROWS));
        let parts: Vec<f32> = std::iter::from_fn(|| tracker.advance()).collect();
        assert_eq!(parts.len(), FADE as usize);
        assert!(parts.is_sorted() && parts[0] > 0.0);
        assert_eq!(parts.last(), Some(&1.0));
        assert!(tracker.is_at_rest());
    }

    #[test]
    fn only_a_clear_gain_that_stays_moves_it() {
        let mut tracker = at_rest();
        for _ in 0..100 {
            assert!(!tracker.observe(costs(8100, 10_000), ROWS), "a fifth is not gained");
            assert!(!tracker.observe(costs(1000, 4000), ROWS), "a part of little");
        }
        // A single better search is not enough, nor is every other one.
        for _ in 0..10 {
            assert!(!tracker.observe(costs(5000, 10_000), ROWS));
            assert!(!tracker.observe(costs(9000, 10_000), ROWS));
        }
        assert!(!tracker.observe(costs(5000, 10_000), ROWS));
        assert!(tracker.observe(costs(5000, 10_000), ROWS));
        // No path is accepted during a fade.
        assert!(!tracker.observe(costs(5000, 10_000), ROWS));
        assert!(!tracker.observe(costs(5000, 10_000), ROWS));
    }
}
