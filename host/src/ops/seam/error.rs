//! The error type of seams.

use thiserror::Error;

use crate::device::DeviceError;
use crate::ops::stitch::StitchError;

/// The error if a warp does not allow a seam, an option is invalid, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeamError {
    /// The feather, which is the width of the blending along the seam, is out of range.
    #[error("seam: the feather is {pixels} pixels; it must be 1 to 1000")]
    Feather {
        /// The feather in pixels.
        pixels: f32,
    },
    /// The cameras do not overlap.
    #[error(
        "seam: the cameras do not overlap, so there is nothing to blend; use feathered blending"
    )]
    NoOverlap,
    /// One camera covers the whole area of the other one, or both cover the same area.
    #[error(
        "seam: the other camera covers the whole area of the {camera} camera, so no line separates them; use feathered blending"
    )]
    Inside {
        /// The camera that covers the smaller area.
        camera: &'static str,
    },
    /// No single line separates the area that only one camera sees from the area that only the other camera sees.
    #[error(
        "seam: the pictures of the cameras cross or overlap in several places, so every line from side to side would show edges of pictures (at {breaches} positions in {rows} rows of cells); use feathered blending"
    )]
    Tangled {
        /// The number of positions at which an edge of a picture would be visible.
        breaches: u32,
        /// The number of rows of cells in the overlap.
        rows: u32,
    },
    /// Two cameras allow no seam. The warp has further cameras.
    #[error("no seam between the {first} and the {second} camera: {reason}")]
    Pair {
        /// The name of the first camera.
        first: &'static str,
        /// The name of the second camera.
        second: &'static str,
        /// The reason.
        reason: Box<Self>,
    },
    /// The frames do not match the warp, or an option is out of range.
    #[error(transparent)]
    Stitch(StitchError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<StitchError> for SeamError {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => Self::Device(error),
            error => Self::Stitch(error),
        }
    }
}

impl SeamError {
    /// Returns whether the cause of the error is that the warp does not allow a seam. In this case, use the feathered
    /// weights of the warp.
    #[must_use]
    pub fn is_of_warp(&self) -> bool {
        match self {
            Self::NoOverlap | Self::Inside { .. } | Self::Tangled { .. } => true,
            Self::Pair { reason, .. } => reason.is_of_warp(),
            Self::Feather { .. } | Self::Stitch(_) | Self::Device(_) => false,
        }
    }
}
