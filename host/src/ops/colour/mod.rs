//! Colour matching of two cameras: gains and gammas that equalise their brightness in the overlap and follow the light
//! without visible steps.
//!
//! An [`Overlap`] is computed once per warp and lists the pixels to compare. Its [`sums`](Overlap::sums) over a pair
//! of frames take one small launch. [`estimate`] converts them to the [`Colours`] that equalise the pair. A
//! [`ColourTracker`] converts such estimates, every [`EVERY`] frames or as they arrive, to the colours of each frame.
//! A [`GammaTable`] stores colours for the stitch.

mod estimate;
mod overlap;
mod tracker;

pub use crate::ops::stitch::GammaTable;
pub use estimate::{BoundsError, Colours, EstimateLimits, FactorRange, estimate};
pub(crate) use overlap::find_box;
pub use overlap::{Overlap, Summing, matched, matched_pictures};
pub use shared_types::stitch::Colour;
pub use tracker::{ColourTracker, ColourTrackerOptions, EVERY, SettingsError};
