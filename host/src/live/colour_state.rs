//! The state of the colour correction and the seam search, as [`Session::colour`](super::Session::colour) returns it.

use std::sync::Arc;
use std::time::Duration;

use shared_types::colour::ColourSums;

use crate::ops::colour::Colours;

/// The result of a colour analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The timestamp of the analysed frames.
    pub timestamp: Duration,
    /// The colour sums of each overlap of two cameras.
    pub overlaps: Arc<[OverlapSums]>,
}

/// The colour sums of two frames over the overlap of their cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapSums {
    /// The cameras, in the order of `left` and `right` in the sums.
    pub cameras: [usize; 2],
    /// The colour sums of both frames over the overlap.
    pub sums: ColourSums,
}

/// The state of the colour correction and of the seam search.
#[derive(Clone, Debug, PartialEq)]
pub struct ColourState {
    /// Whether colour correction tracks changes in lighting.
    pub following: bool,
    /// Whether the seam search is switched on. It needs a blend with a seam.
    pub seeking: bool,
    /// The number of consecutive failures of the analysis that serves both the colour correction and the seam search.
    /// The third failure switches off both.
    pub strikes: u32,
    /// The colours that were applied to the newest frame.
    pub colours: Colours,
    /// The result of the newest colour analysis, if any.
    pub analysis: Option<Analysis>,
}

impl ColourState {
    pub(super) fn new(following: bool, colours: Colours) -> Self {
        Self { following, seeking: true, strikes: 0, colours, analysis: None }
    }

    /// Switches the colour correction on or off and the seam search on, and resets the count of consecutive failures.
    pub(super) fn switch(&mut self, following: bool) {
        (self.following, self.seeking, self.strikes) = (following, true, 0);
    }
}
