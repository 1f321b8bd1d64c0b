//! How good a panorama is: whether its seam shows, whether its cameras agree, whether it flickers.
//!
//! - [`SeamLine`] measures how much more a panorama changes across the line at which one camera hands over to
//!   the other than beside it.
//! - [`OverlapMeter`] measures how far apart both cameras' levels are where they look at the same thing,
//!   before and after their colours are corrected.
//! - [`FlickerMeter`] measures how restless the brightness of a video is.
//!
//! Each has a score that is 1 at best and 0 at worst: [`seam_score`], [`colour_score`], [`flicker_score`]. They are
//! made so that 0.9 is about where a careful eye begins to see something. How alike two panoramas are
//! is in [`ssim`](crate::ops::ssim).
//!
//! All of this runs on the host: the line has few pixels, the overlap is sampled, and of every frame a sum is
//! taken. Not measured: whether what is shown is straight, sharp or complete; and what a wide blend shows
//! twice, which the cameras' difference of single pixels hints at.

mod flicker;
mod levels;
mod overlap;
mod seam;

use glam::UVec2;
use thiserror::Error;

use crate::device::DeviceError;
pub use flicker::{Flicker, FlickerFrame, FlickerMeter};
pub use levels::Levels;
pub use overlap::{CameraDifference, OverlapMeter};
pub use seam::{
    NOBODY, SPANS, SeamLine, SeamVisibility, SpanDifference, owners_of_warp, owners_of_weights,
};

/// What is measured does not fit together, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QualityError {
    /// A picture or frame of another size.
    #[error("quality: the {what} is {}×{} pixels but {}×{} are expected", found.x, found.y, expected.x, expected.y)]
    Size {
        /// What it is.
        what: &'static str,
        /// Its size.
        found: UVec2,
        /// The size that it should have.
        expected: UVec2,
    },
    /// Another number of owners or weights than pixels.
    #[error("quality: {found} {what} for a panorama of {}×{} pixels", size.x, size.y)]
    Count {
        /// What they are.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The panorama's size.
        size: UVec2,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Levels of colour difference that cost all of the score.
const COLOUR_RANGE: f64 = 30.0;

/// Levels of flicker that cost all of the score.
const FLICKER_RANGE: f64 = 10.0;

/// Of a seam's [ratio](SeamVisibility::ratio): `1 / max(ratio, 1)`. 0.9 is a line that is by a ninth stronger than
/// what is beside it.
#[must_use]
pub fn seam_score(ratio: f64) -> f64 {
    1.0 / ratio.max(1.0)
}

/// Of the [difference of the cameras' means](CameraDifference::colour) in levels: `1 − d / 30`, not below 0. 0.9 is
/// a difference of 3 levels.
#[must_use]
pub fn colour_score(levels: f64) -> f64 {
    (1.0 - levels / COLOUR_RANGE).clamp(0.0, 1.0)
}

/// Of the [flicker](Flicker::mean) in levels: `1 − f / 10`, not below 0. 0.9 is brightness that goes 1 level
/// up and 1 down from its mean.
#[must_use]
pub fn flicker_score(levels: f64) -> f64 {
    (1.0 - levels / FLICKER_RANGE).clamp(0.0, 1.0)
}

/// Checks the size of what is measured.
fn check_size(what: &'static str, found: UVec2, expected: UVec2) -> Result<(), QualityError> {
    if found == expected { Ok(()) } else { Err(QualityError::Size { what, found, expected }) }
}

/// Checks that there is one of `found` things for each pixel.
fn check_count(what: &'static str, found: usize, size: UVec2) -> Result<(), QualityError> {
    if found as u64 == u64::from(size.x) * u64::from(size.y) {
        return Ok(());
    }
    Err(QualityError::Count { what, found, size })
}
