//! Why there is no seam.

use thiserror::Error;

use crate::device::DeviceError;
use crate::ops::stitch::StitchError;

/// A warp has no seam, or it cannot be found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeamError {
    /// A width out of its range.
    #[error("seam: a feather of {pixels} pixels; it is a number from 1 to 1000")]
    Feather {
        /// The width.
        pixels: f32,
    },
    /// Nothing is seen by both cameras.
    #[error("seam: the cameras see nothing together; there is nothing to blend")]
    NoOverlap,
    /// One picture lies inside of the other, or both cover the same.
    #[error(
        "seam: the {camera} camera sees nothing that the other does not, so no line parts them; blend by the warp's weights"
    )]
    Inside {
        /// Whose picture lies inside.
        camera: &'static str,
    },
    /// The best line would leave this many cells along pictures' edges.
    #[error(
        "seam: no single line parts what each camera sees alone: the best one leaves {breaches} steps at pictures' edges over {rows} rows; blend by the warp's weights"
    )]
    Tangled {
        /// Cells at which a picture's edge would show.
        breaches: u32,
        /// Rows of cells of the overlap.
        rows: u32,
    },
    /// The pictures do not go with the warp.
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
    /// Whether it is the warp that has no seam: then its own weights are the answer.
    #[must_use]
    pub fn is_of_warp(&self) -> bool {
        matches!(self, Self::NoOverlap | Self::Inside { .. } | Self::Tangled { .. })
    }
}
