//! Colour matching of cameras: computes gains and gammas that equalise the cameras' brightness in their overlaps, and
//! changes them without visible steps when the lighting changes. [`stitch`](crate::ops::stitch) applies them.
//!
//! [`Overlaps`] are computed once per warp. For each pair of cameras, an [`Overlap`] lists the pixels to compare. One
//! launch per overlap computes the colour sums of a set of frames. From these sums, [`estimate`] computes the
//! [`Colours`] that equalise two cameras, and [`solve`] those of any number of cameras. For video, a [`ColourMatcher`]
//! solves the colours every few frames (by default [`EVERY`]), and a [`ColourTracker`] computes the colours of each
//! frame from them.

mod estimate;
mod graph;
mod matcher;
mod overlap;
mod overlaps;
mod tracker;

pub use crate::ops::stitch::Colours;
pub use estimate::{BoundsError, EstimateLimits, FactorRange, estimate};
pub use graph::{Edge, Solution, solve};
pub use matcher::ColourMatcher;
pub(crate) use overlap::MAX_OVERLAPS;
pub(crate) use overlap::find_box;
pub use overlap::{Overlap, Summing};
pub use overlaps::{Overlaps, matched, matched_frames, matched_pictures};
pub use shared_types::stitch::Colour;
pub(crate) use tracker::every_at_rate;
pub use tracker::{ColourTracker, ColourTrackerOptions, EVERY, SettingsError};
