//! Errors of seams.

use thiserror::Error;

use crate::device::DeviceError;
use crate::ops::stitch::StitchError;

/// A warp has no seam, or the search failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeamError {
    /// The feather is out of range.
    #[error("seam: a feather of {pixels} pixels; it is a number from 1 to 1000")]
    Feather {
        /// The feather in pixels.
        pixels: f32,
    },
    /// The cameras do not overlap.
    #[error("seam: the cameras see nothing together; there is nothing to blend")]
    NoOverlap,
    /// One picture lies inside the other one, or both cover the same area.
    #[error(
        "seam: the {camera} camera sees nothing that the other does not, so no line parts them; blend by the warp's weights"
    )]
    Inside {
        /// The camera of the inner picture.
        camera: &'static str,
    },
    /// The best line leaves this many cells at the edges of pictures.
    #[error(
        "seam: no single line parts what each camera sees alone: the best one leaves {breaches} steps at pictures' edges over {rows} rows; blend by the warp's weights"
    )]
    Tangled {
        /// Cells at which a picture's edge would show.
        breaches: u32,
        /// Rows of cells in the overlap.
        rows: u32,
    },
    /// The pictures do not fit the warp.
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
    /// Returns whether the warp itself has no seam. Use its own weights then.
    #[must_use]
    pub fn is_of_warp(&self) -> bool {
        matches!(self, Self::NoOverlap | Self::Inside { .. } | Self::Tangled { .. })
    }
}
