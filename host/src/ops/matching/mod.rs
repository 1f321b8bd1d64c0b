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

use crate::error::operation_error;
use crate::ops::features::FeatureError;

pub use describer::{Described, Describer, Keypoint};
pub use links::{joined, links};
pub use pairs::pairs;
pub use relocate::{recalibrate, relocate};

/// The maximum number of pixels of the first pyramid level. Larger pictures are downscaled first.
const PIXELS: u64 = 2_200_000;

operation_error! {
    /// The error if a picture has another size than the describer, or the device failed.
    MatchError: "matching: {0}",
    /// The eigenvalues of a pyramid level could not be computed.
    Features(FeatureError)
}
