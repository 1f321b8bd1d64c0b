//! Colour matching of cameras: computes gains and gammas that equalise the cameras' brightness in their overlaps, and
//! changes them without visible steps when the lighting changes. [`stitch`](crate::ops::stitch) applies them.
//!
//! [`Overlaps`] are computed once per warp. For each pair of cameras, an [`Overlap`] lists the pixels to compare. One
//! launch per overlap computes the colour sums of a set of frames. From these sums, [`solve`] computes the [`Colours`]
//! that equalise any number of cameras. For video, a [`ColourMatcher`] solves the colours every few frames (by default
//! [`EVERY`]), and a [`ColourTracker`] computes the colours of each frame from them.

mod matcher;
mod overlap;
mod overlaps;
mod solve;
mod tracker;

pub use crate::ops::stitch::Colours;
pub use matcher::ColourMatcher;
pub(crate) use overlap::MAX_OVERLAPS;
pub(crate) use overlap::find_box;
pub use overlap::{Overlap, Summing};
pub use overlaps::{Overlaps, matched};
pub use shared_types::stitch::Colour;
pub use solve::{Edge, solve};
pub(crate) use tracker::every_at_rate;
pub use tracker::{ColourTracker, EVERY, FRAME_RATE};
