//! Finds pairs of points in two pictures that show the same point of the scene. The pictures may differ in rotation,
//! scale and exposure.
//!
//! 1. `describer` computes a pyramid, the salient points of each level, and their orientations and descriptors.
//! 2. `spread` selects points that are spread over the whole picture.
//! 3. `pairs` finds each point's nearest descriptors in the other picture, and returns the unambiguous matches.
//! 4. `relocate` refines the matches with the map of a first calibration.
//!
//! Descriptors contain normalised gradients, so gain and offset of the levels have no effect. Many matches are wrong;
//! [`calibrate`](crate::geometry::calibrate) selects a consistent subset. The first three steps do not use lenses or
//! geometry.

mod describer;
mod links;
mod pairs;
mod relocate;
mod spread;

use thiserror::Error;

use crate::device::DeviceError;
use crate::ops::features::FeatureError;

pub use describer::{Described, Describer, Keypoint};
pub use links::links;
pub use pairs::pairs;
pub use relocate::{recalibrate, relocate};

/// The default of [`MatchOptions::pixels`].
const PIXELS: u64 = 2_200_000;

/// The maximum value of [`MatchOptions::points`].
const MAX_POINTS: usize = 1_000_000;

/// Options for finding and matching points.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchOptions {
    /// The maximum number of points per picture: 1 to 1,000,000.
    pub points: usize,
    /// The maximum number of pixels of the first pyramid level, at least 1. Larger pictures are downscaled first.
    pub pixels: u64,
    /// The ratio test: the descriptor distance of a match, divided by that of the best candidate at another position,
    /// must be at most this number. The number must be greater than 0 and at most 1. Larger values accept more
    /// ambiguous matches.
    pub ratio: f32,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self { points: 2000, pixels: PIXELS, ratio: 0.9 }
    }
}

impl MatchOptions {
    /// Checks that all options are in range.
    ///
    /// # Errors
    /// Returns [`MatchError`] for the first option out of range.
    pub fn check(&self) -> Result<(), MatchError> {
        let Self { points, pixels, ratio } = *self;
        let reason = if !(1..=MAX_POINTS).contains(&points) {
            format!("the number of points per picture is {points}; it must be 1 to {MAX_POINTS}")
        } else if pixels == 0 {
            "the maximum number of pixels of the first pyramid level is 0; it must be at least 1"
                .into()
        } else if ratio > 0.0 && ratio <= 1.0 {
            return Ok(());
        } else {
            format!(
                "the maximum ratio of descriptor distances is {ratio}; it must be greater than 0 and at most 1"
            )
        };
        Err(MatchError::Invalid(reason))
    }
}

/// The error if an option or the size of a picture is invalid, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// An option is out of range, or a picture does not have the describer's size.
    #[error("matching: {0}")]
    Invalid(String),
    /// The eigenvalues of a pyramid level could not be computed.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
