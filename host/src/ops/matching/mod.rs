//! Matching: finds points of two pictures that show the same thing, for any rotation, scale and exposure.
//!
//! 1. `describer`: kernels compute a pyramid, the salient points of each level, their orientations and descriptors.
//! 2. `spread` selects the points that cover the picture best.
//! 3. `pairs` finds each point's nearest descriptors in the other picture, and keeps unambiguous matches.
//!
//! Descriptors are normalised gradients, so gain and offset do not matter. The matches contain many wrong ones;
//! [`calibrate`](crate::geometry::calibrate) finds the consistent ones. This module knows neither lenses nor geometry.

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

/// Upper limit of the points per picture.
const MAX_POINTS: usize = 1_000_000;

/// Options of finding and matching points.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchOptions {
    /// Maximum number of points per picture: 1 to a million.
    pub points: usize,
    /// Maximum number of pixels of the finest level, at least 1; larger pictures are downscaled first.
    pub pixels: u64,
    /// Maximum ratio of a match's distance to that of the next best place: over 0, up to 1.
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
    /// Returns [`MatchError::Points`], [`MatchError::Pixels`] or [`MatchError::Ratio`].
    pub fn check(&self) -> Result<(), MatchError> {
        let Self { points, pixels, ratio } = *self;
        if !(1..=MAX_POINTS).contains(&points) {
            return Err(MatchError::Points { points });
        }
        if pixels == 0 {
            return Err(MatchError::Pixels);
        }
        // This form rejects a NaN.
        let fine = ratio > 0.0 && ratio <= 1.0;
        if fine { Ok(()) } else { Err(MatchError::Ratio { ratio }) }
    }
}

/// Pictures cannot be matched, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The number of points is 0 or too large.
    #[error("matching: {points} points of a picture; 1 to {MAX_POINTS} are allowed")]
    Points {
        /// The number given.
        points: usize,
    },
    /// The finest level has no pixels.
    #[error("matching: 0 pixels of the finest level; give at least 1")]
    Pixels,
    /// The ratio is outside the valid range.
    #[error("matching: a ratio of distances of {ratio}; it is over 0 and at most 1")]
    Ratio {
        /// The ratio given.
        ratio: f32,
    },
    /// The picture has another size than the describer.
    #[error(
        "matching: the picture is {}×{} pixels but the describer was made for {}×{}", found.x, found.y, expected.x, expected.y
    )]
    Size {
        /// The picture's size.
        found: UVec2,
        /// The describer's size.
        expected: UVec2,
    },
    /// The pyramid levels could not be computed.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
