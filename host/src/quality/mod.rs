//! Computes quality scores of a panorama: the visibility of the seam, the agreement of the cameras, and the flicker.
//!
//! - [`SeamLine`] compares the level changes across the line between two cameras with the level changes beside the
//!   line.
//! - [`OverlapMeter`] measures the colour difference of the cameras in the overlap, before and after correction.
//! - [`FlickerMeter`] measures how much the brightness of a video varies from frame to frame.
//!
//! Each measurement has a score from 0 (worst) to 1 (best): [`seam_score`], [`colour_score`], [`flicker_score`]. Below
//! about 0.9, a careful viewer notices the defect. [`ssim`](crate::ops::ssim) compares two panoramas.
//!
//! All measurements run on the host. They read only the pixels near the line, at most 262,144 pixels of the overlap,
//! and each level of a frame once for flicker. Geometry, sharpness, completeness, and ghosts in a wide blend are not
//! measured. However, a large [`CameraDifference::disagreement`] hints at ghosts.

mod flicker;
mod levels;
mod overlap;
mod seam;

use glam::UVec2;
use thiserror::Error;

use crate::device::DeviceError;
pub use flicker::{Flicker, FlickerFrame, FlickerMeter, flicker_score};
pub use levels::Levels;
pub use overlap::{CameraDifference, OverlapMeter, colour_score};
pub use seam::{
    NOBODY, SPANS, SeamLine, SeamVisibility, SpanDifference, owners_of_warp, owners_of_weights,
    seam_score,
};

/// The error if the sizes of the inputs do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QualityError {
    /// A picture or frame does not have the required size.
    #[error("quality: the {what} is {}×{} pixels; it must be {}×{}", found.x, found.y, expected.x, expected.y)]
    Size {
        /// The name of the input, such as `panorama`.
        what: &'static str,
        /// The input's size.
        found: UVec2,
        /// The required size.
        expected: UVec2,
    },
    /// A set does not have a frame for each of the measured cameras.
    #[error(
        "quality: {found} frames were passed, but the measured cameras need at least {expected}; pass one frame per camera of the warp"
    )]
    Frames {
        /// The number of frames.
        found: usize,
        /// The required number of frames.
        expected: usize,
    },
    /// The number of owners (camera indices) or of weights differs from the number of pixels.
    #[error("quality: there are {found} {what} for a panorama of {}×{} pixels; there must be one per pixel", size.x, size.y)]
    Count {
        /// The name of the input, such as `owners`.
        what: &'static str,
        /// The number of elements of the input.
        found: usize,
        /// The panorama's size.
        size: UVec2,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Checks that an input has the expected size.
fn check_size(what: &'static str, found: UVec2, expected: UVec2) -> Result<(), QualityError> {
    if found == expected { Ok(()) } else { Err(QualityError::Size { what, found, expected }) }
}

/// Checks that an input has one element per pixel.
fn check_count(what: &'static str, found: usize, size: UVec2) -> Result<(), QualityError> {
    if found as u64 == u64::from(size.x) * u64::from(size.y) {
        return Ok(());
    }
    Err(QualityError::Count { what, found, size })
}
