//! Colour matching of two cameras: gains and gammas that make both equally bright where they look at
//! the same thing, and that follow the light without a visible step.
//!
//! An [`Overlap`] is made once a warp and says which pixels to compare; its [`sums`](Overlap::sums) of
//! a pair of frames take one small launch. [`estimate`] takes them to the [`Colours`] that would equalise
//! the pair. A [`ColourTracker`] takes such estimates, every [`EVERY`] frames or when they come, to the colours
//! of each frame. A [`GammaTable`] holds colours for the stitch.

mod estimate;
mod gamma_table;
mod overlap;
mod tracker;

pub use estimate::{BoundsError, Colours, EstimateLimits, FactorRange, estimate};
pub use gamma_table::GammaTable;
pub(crate) use overlap::find_box;
pub use overlap::{Overlap, Summing, matched, matched_pictures};
pub use shared_types::stitch::Colour;
pub use tracker::{ColourTracker, ColourTrackerOptions, EVERY, SettingsError};
