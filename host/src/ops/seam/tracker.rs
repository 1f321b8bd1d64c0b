//! Decides when a seam changes to a better path. Changes are rare and gradual, so that they are not visible.
//!
//! The tracker uses no clock and no thread: each call of [`SeamTracker::advance`] stands for one frame.

use shared_types::seam::{BASE, SeamCosts};

/// A path counts as better only if its cost is at most this fraction of the current path's cost.
pub const KEEP: f32 = 0.8;

/// The minimum gain: a path counts as better only if it costs less than the current path by at least this much,
/// multiplied by the number of rows of cells. The value is half the cost of a row in which both cameras agree.
pub const LEAST_GAIN: u32 = BASE;

/// The number of consecutive searches that must find a better path before the seam changes. With more than one, a
/// flash, or a camera that is late by one frame, does not change the seam.
pub const CONFIRM: u32 = 2;

/// The number of frames over which the weights fade from one path to the next.
pub const FADE: u32 = 12;

/// The state of a seam over time: the number of better paths found, and the progress of a fade.
#[derive(Clone, Debug, Default)]
pub struct SeamTracker {
    /// Whether the seam has a path.
    begun: bool,
    /// The number of consecutive searches that found a better path.
    better: u32,
    /// The number of frames of the fade so far, less than [`FADE`]; `None` if there is no fade.
    fade: Option<u32>,
}

impl SeamTracker {
    /// Adds the result of a search on a grid of `rows` rows. Returns whether to accept the path that the search found;
    /// a fade to it then begins.
    ///
    /// The first path is always accepted. During a fade, no path is accepted.
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

    /// Returns whether the seam has no path yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !self.begun
    }

    /// Returns whether no fade is in progress. During a fade, a search is useless, because no new path is accepted.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.fade.is_none()
    }

    /// Returns the progress of the fade in the next frame, greater than 0 and at most 1. Returns `None` if there is no
    /// fade, so that the weights do not change. Call this once per frame.
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

    /// Returns a tracker that has a path and is not in a fade.
    fn at_rest() -> SeamTracker {
        let mut tracker = SeamTracker::default();
        assert!(tracker.observe(costs(7000, 0), ROWS), "the first path is accepted");
        while tracker.advance().is_some() {}
        tracker
    }

    /// The progress of a fade increases for [`FADE`] frames and ends with exactly 1.
    #[test]
    fn a_fade_ends_after_its_frames() {
        let mut tracker = SeamTracker::default();
        assert_eq!(tracker.advance(), None);
        assert!(tracker.observe(costs(7000, 0), ROWS));
        let parts: Vec<f32> = std::iter::from_fn(|| tracker.advance()).collect();
        assert_eq!(parts.len(), FADE as usize);
        assert!(parts.is_sorted() && parts[0] > 0.0);
        assert_eq!(parts.last(), Some(&1.0));
        assert!(tracker.is_at_rest());
    }

    /// A path is accepted only if it is clearly better in two consecutive searches.
    #[test]
    fn the_seam_moves_only_for_a_clear_and_lasting_gain() {
        let mut tracker = at_rest();
        for _ in 0..100 {
            assert!(
                !tracker.observe(costs(8100, 10_000), ROWS),
                "the cost is over 80 % of the current one"
            );
            assert!(
                !tracker.observe(costs(1000, 4000), ROWS),
                "the difference is less than `LEAST_GAIN` per row"
            );
        }
        // One search that finds a better path is not enough. Searches that find a better path only every other time are
        // not enough either.
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
