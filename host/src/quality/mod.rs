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

use crate::error::operation_error;
pub use flicker::{Flicker, FlickerFrame, FlickerMeter, flicker_score};
pub use levels::Levels;
pub use overlap::{CameraDifference, OverlapMeter, colour_score};
pub use seam::{
    NOBODY, SPANS, SeamLine, SeamVisibility, SpanDifference, owners_of_warp, owners_of_weights,
    seam_score,
};

operation_error! {
    /// The error if the sizes of the inputs do not match, or the device failed.
    QualityError: "quality: {0}"
}

/// Checks that an input has the expected size.
fn check_size(what: &str, found: UVec2, expected: UVec2) -> Result<(), QualityError> {
    if found == expected {
        return Ok(());
    }
    let ([w, h], [x, y]) = (found.to_array(), expected.to_array());
    Err(QualityError::Invalid(format!("the {what} is {w}×{h} pixels; it must be {x}×{y}")))
}

/// Checks that there is an owner (the index of a camera) for each pixel.
fn check_owners(owners: &[u8], size: UVec2) -> Result<(), QualityError> {
    let (found, [x, y]) = (owners.len(), size.to_array());
    if found as u64 == u64::from(x) * u64::from(y) {
        return Ok(());
    }
    let text = format!(
        "there are {found} owners for a panorama of {x}×{y} pixels; there must be one per pixel"
    );
    Err(QualityError::Invalid(text))
}
