//! The error type of panoramas.

use thiserror::Error;

use crate::device::DeviceError;
use crate::error::passes_on;
use crate::ops::blend::BlendError;
use crate::ops::seam::SeamError;
use crate::ops::stitch::StitchError;
use crate::warp::{PlaneError, RenderError};

/// The error if pictures, geometry and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PanoramaError {
    /// Pictures, geometry and options do not match, or there are too few or too many pictures.
    #[error("panorama: {0}")]
    Invalid(String),
    /// The size of the panorama or of a picture is invalid.
    #[error("panorama: {0}")]
    Size(#[from] PlaneError),
    /// Pictures, warp and options do not match.
    #[error(transparent)]
    Stitch(#[from] StitchError),
    /// The requested blend cannot be had.
    #[error("panorama: {0}")]
    Blend(#[from] BlendError),
    /// The options of the seam are invalid.
    #[error(transparent)]
    Seam(#[from] SeamError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

passes_on!(PanoramaError: Stitch | Seam | Device);

impl From<RenderError> for PanoramaError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Plane(error) => Self::Size(error),
            RenderError::Device(error) => Self::Device(error),
        }
    }
}
