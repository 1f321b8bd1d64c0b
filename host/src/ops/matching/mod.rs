//! Matching: which points of two pictures show the same thing, whatever the cameras' turn, size and exposure.
//!
//! 1. `describer`: levels of a pyramid, the points that stand out on each, their orientations and descriptors, all
//!    by kernels. 2. `spread`: of the points found, those that are spread best over the picture. 3. `pairs`: each
//!    point's nearest descriptors in the other picture, and which of them are told apart from the rest.
//!
//! Descriptors are of gradients brought to one length, so that gain and offset do not matter. What comes out are
//! guesses, many of them wrong: [`calibrate`](crate::geometry::calibrate) finds what they agree on. Nothing here knows
//! lenses or geometry.

mod describer;
mod links;
mod pairs;
mod spread;

use glam::UVec2;
use thiserror::Error;

use crate::device::DeviceError;
use crate::ops::features::FeatureError;

pub use describer::{Described, Describer, Keypoint};
pub use links::links;
pub use pairs::pairs;

/// Most points of a picture that may be asked for.
const MAX_POINTS: usize = 1_000_000;

/// How points are found and matched.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchOptions {
    /// Most points of a picture: 1 to a million.
    pub points: usize,
    /// Most pixels of the finest level, at least 1: larger pictures begin smaller.
    pub pixels: u64,
    /// A match counts if its distance is at most so much of that to the next best place: over 0, up to 1.
    pub ratio: f32,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self { points: 2000, pixels: 2_200_000, ratio: 0.9 }
    }
}

impl MatchOptions {
    /// Checks points, pixels and ratio.
    ///
    /// # Errors
    /// [`MatchError::Points`], [`MatchError::Pixels`] or [`MatchError::Ratio`].
    pub fn check(&self) -> Result<(), MatchError> {
        let Self { points, pixels, ratio } = *self;
        if !(1..=MAX_POINTS).contains(&points) {
            return Err(MatchError::Points { points });
        }
        if pixels == 0 {
            return Err(MatchError::Pixels);
        }
        // Written so that a NaN is refused.
        let fine = ratio > 0.0 && ratio <= 1.0;
        if fine { Ok(()) } else { Err(MatchError::Ratio { ratio }) }
    }
}

/// Pictures cannot be matched, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// No points, or too many.
    #[error("matching: {points} points of a picture; 1 to {MAX_POINTS} are allowed")]
    Points {
        /// What was given.
        points: usize,
    },
    /// A finest level without pixels.
    #[error("matching: 0 pixels of the finest level; give at least 1")]
    Pixels,
    /// A ratio that no match has, or that every guess has.
    #[error("matching: a ratio of distances of {ratio}; it is over 0 and at most 1")]
    Ratio {
        /// What was given.
        ratio: f32,
    },
    /// A picture of another size than the describer's.
    #[error(
        "matching: the picture is {}×{} pixels but the describer was made for {}×{}", found.x, found.y, expected.x, expected.y
    )]
    Size {
        /// The picture's size.
        found: UVec2,
        /// The describer's.
        expected: UVec2,
    },
    /// Levels could not be made.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
