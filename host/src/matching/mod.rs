//! Matching: which points of two pictures show the same thing, whatever the cameras' turn, size and exposure.
//!
//! 1. `describer`: levels of a pyramid, the points that stand out on each, their orientations and descriptors, all
//!    by kernels. 2. `spread`: of the points found, those that are spread best over the picture. 3. `pairs`: each
//!    point's nearest descriptors in the other picture, and which of them are told apart from the rest.
//!
//! Descriptors are of gradients brought to one length, so that gain and offset do not matter. What comes out are
//! guesses, many of them wrong: [`calibrate`](crate::calibrate) finds what they agree on. Nothing here knows
//! lenses or geometry.

mod describer;
mod links;
mod pairs;
mod spread;

use cuda_std::DeviceView;
use glam::UVec2;
use shared_types::Rgba8;
use thiserror::Error;

use crate::calibrate::Correspondence;
use crate::device::{DeviceError, Stream};
use crate::features::FeatureError;

pub use describer::{Described, Describer, Keypoint};
pub use links::links;
pub use pairs::pairs;

/// How points are found and matched.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchOptions {
    /// Most points of a picture.
    pub points: usize,
    /// Most pixels of the finest level: larger pictures begin smaller.
    pub pixels: u64,
    /// A match counts if its distance is at most so much of that to the next best place: over 0, up to 1.
    pub ratio: f32,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self { points: 2000, pixels: 2_200_000, ratio: 0.9 }
    }
}

/// Pictures cannot be matched, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatchError {
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

/// Finds what two pictures have in common, the best match first, and waits for it.
///
/// # Errors
/// [`MatchError`].
#[track_caller]
pub fn matches(
    stream: &Stream,
    left: DeviceView<'_, Rgba8>,
    right: DeviceView<'_, Rgba8>,
    options: &MatchOptions,
) -> Result<Vec<Correspondence>, MatchError> {
    let size = |picture: DeviceView<'_, Rgba8>| UVec2::from(picture.size());
    let mut describer = Describer::new(stream, size(left), options)?;
    let described = describer.describe(stream, left)?;
    if size(right) != size(left) {
        describer = Describer::new(stream, size(right), options)?;
    }
    let (left, right) = (described, describer.describe(stream, right)?);
    pairs(stream, &left, &right, options)
}
