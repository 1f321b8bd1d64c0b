//! Colour that follows the light: how the two cameras differ where both look, and what evens it out.
//!
//! An [`Overlap`] is made once a warp and says which pixels to compare; its [`sums`](Overlap::sums) of
//! a pair of frames take one small launch. A [`GammaTable`] holds a correction for the stitch.

mod gamma_table;
mod overlap;

pub use gamma_table::GammaTable;
pub use overlap::{Overlap, Summing};
