//! Colour matching of two cameras: gains and gammas that make both equally bright where they look at
//! the same thing, and that follow the light without a visible step.
//!
//! [`estimate`] takes the sums over the overlap of one pair of frames to the [`Colours`] that would
//! equalise it. A [`Tracker`] takes such estimates, every [`EVERY`] frames or when they come, to the
//! colours of each frame.

mod estimate;
mod tracker;

pub use estimate::{Bounds, BoundsError, Colours, Limits, estimate};
pub use tracker::{EVERY, Settings, SettingsError, Tracker};
