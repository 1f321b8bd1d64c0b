//! Colour matching of two cameras: computes gains and gammas that equalise the cameras' brightness in the overlap, and
//! changes them without visible steps when the lighting changes. [`stitch`](crate::ops::stitch) applies them.
//!
//! An [`Overlap`] is computed once per warp and lists the pixels to compare. [`Overlap::sums`] computes the colour sums
//! of a pair of frames with one launch. From these sums, [`estimate`] computes the [`Colours`] that equalise the pair.
//! A [`ColourTracker`] receives an estimate every few frames (by default [`EVERY`]), and computes the colours of each
//! frame. A [`GammaTable`] stores the corrected level for each 8-bit input level in device memory, for
//! [`Power::Table`](crate::ops::stitch::Power::Table).

mod estimate;
mod graph;
mod matcher;
mod overlap;
mod tracker;

pub use crate::ops::stitch::{Colours, GammaTable};
pub use estimate::{BoundsError, EstimateLimits, FactorRange, estimate};
pub use graph::{Edge, Solution, solve};
pub use matcher::ColourMatcher;
pub(crate) use overlap::find_box;
pub use overlap::{Overlap, Summing, matched, matched_pictures};
pub use shared_types::stitch::Colour;
pub use tracker::{ColourTracker, ColourTrackerOptions, EVERY, SettingsError};
