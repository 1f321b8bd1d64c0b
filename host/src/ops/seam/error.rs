//! The error type of seams.

use thiserror::Error;

use crate::device::DeviceError;
use crate::error::passes_on;
use crate::ops::stitch::StitchError;

/// The error if a warp does not allow a seam, an option is invalid, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeamError {
    /// The cameras do not overlap.
    #[error(
        "seam: the cameras do not overlap, so there is nothing to blend; use feathered blending"
    )]
    NoOverlap,
    /// No line separates the areas that only one of two cameras sees: one camera covers the whole area of the other, or
    /// the pictures cross or overlap in several places.
    #[error("{0}; use feathered blending")]
    NoLine(String),
    /// The width of the blend is out of range.
    #[error("seam: the feather is {0} pixels; it must be 1 to 1000")]
    Feather(f32),
    /// The frames do not match the warp, or an option is out of range.
    #[error(transparent)]
    Stitch(#[from] StitchError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

passes_on!(SeamError: Stitch | Device);

impl SeamError {
    /// Returns whether the cause of the error is that the warp does not allow a seam. In this case, use the feathered
    /// weights of the warp.
    #[must_use]
    pub fn is_of_warp(&self) -> bool {
        matches!(self, Self::NoOverlap | Self::NoLine(_))
    }
}
