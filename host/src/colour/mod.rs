//! Colour that follows the light: how the two cameras differ where both look, and what evens it out.
//!
//! An [`Overlap`] is made once a warp and says which pixels to compare; its [`sums`](Overlap::sums) of
//! a pair of frames take one small launch. A [`GammaTable`] holds a correction for the stitch.

mod estimate;
mod gamma_table;
mod overlap;
mod tracker;

pub use estimate::{Bounds, BoundsError, Colours, Limits, estimate};
pub use gamma_table::GammaTable;
pub use overlap::{Overlap, Summing};
pub use tracker::{EVERY, Settings, SettingsError, Tracker};
