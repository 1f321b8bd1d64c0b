//! The error type of panoramas.

use glam::UVec2;
use shared_types::stitch::MAX_CAMERAS as MOST_COLOURS;
use thiserror::Error;

use crate::device::DeviceError;
use crate::geometry::rig::MAX_CAMERAS;
use crate::ops::multiband::MultibandError;
use crate::ops::seam::SeamError;
use crate::ops::stitch::StitchError;
use crate::warp::{PlaneError, RenderError};

/// The error if pictures, geometry and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PanoramaError {
    /// The geometry has fewer than 2 or more than [`MAX_CAMERAS`] cameras.
    #[error("panorama: the geometry has {0} cameras; it must have 2 to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The number of pictures differs from the number of cameras.
    #[error(
        "panorama: {pictures} pictures for a geometry of {cameras} cameras; the number of pictures must equal the number of cameras"
    )]
    Pictures {
        /// The number of pictures.
        pictures: usize,
        /// The number of cameras.
        cameras: usize,
    },
    /// Gains or gammas were set, but there are more than 16 pictures.
    #[error(
        "panorama: gains and gammas can be given for at most {MOST_COLOURS} pictures; use colour matching for more pictures"
    )]
    Colours,
    /// Vignettes were given, but there are more than 16 pictures.
    #[error(
        "panorama: vignettes can be given for at most {MOST_COLOURS} pictures; undo them in the pictures first, with PictureCorrection::of_vignette"
    )]
    Vignettes,
    /// The anchor is not one of the pictures.
    #[error(
        "panorama: the anchor is picture {number}, but there are {pictures}; choose one of them, or none"
    )]
    Anchor {
        /// The number of the anchor, from 1.
        number: usize,
        /// The number of pictures.
        pictures: usize,
    },
    /// The size of the panorama or of a picture is invalid.
    #[error("panorama: {0}")]
    Size(#[from] PlaneError),
    /// A picture does not have the size that the geometry states for its camera.
    #[error(
        "panorama: picture {number} is {}×{} pixels, but the geometry states {}×{} for its camera; use the pictures for which the geometry was made",
        found.x, found.y, expected.x, expected.y
    )]
    PictureSize {
        /// The number of the picture, from 1.
        number: usize,
        /// The size of the picture.
        found: UVec2,
        /// The size that the geometry states for the camera.
        expected: UVec2,
    },
    /// Pictures, warp and options do not match.
    #[error(transparent)]
    Stitch(StitchError),
    /// The options of the seam are invalid.
    #[error(transparent)]
    Seam(SeamError),
    /// There are too many pictures for multiband blending.
    #[error(
        "panorama: multiband blending accepts at most {MOST_COLOURS} pictures, but there are {0}; use a seam"
    )]
    MultibandPictures(usize),
    /// The options of multiband blending are invalid.
    #[error(transparent)]
    Multiband(MultibandError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<StitchError> for PanoramaError {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => Self::Device(error),
            error => Self::Stitch(error),
        }
    }
}

impl From<RenderError> for PanoramaError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Plane(error) => Self::Size(error),
            RenderError::Device(error) => Self::Device(error),
        }
    }
}

impl From<MultibandError> for PanoramaError {
    fn from(error: MultibandError) -> Self {
        match error {
            MultibandError::Stitch(error) => error.into(),
            MultibandError::Device(error) => Self::Device(error),
            error => Self::Multiband(error),
        }
    }
}

impl From<SeamError> for PanoramaError {
    fn from(error: SeamError) -> Self {
        match error {
            SeamError::Device(error) => Self::Device(error),
            SeamError::Stitch(error) => error.into(),
            error => Self::Seam(error),
        }
    }
}
