//! The errors for invalid sizes or numbers in a warp, and for a warp that cannot be rendered.

use crate::device::DeviceError;
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
use glam::UVec2;
use shared_types::stitch::MAX_CAMERAS;
use thiserror::Error;

/// A size or a number in a warp is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum PlaneError {
    /// The warp has too few or too many cameras.
    #[error("the warp has {found} cameras; it must have 2 to {MAX_CAMERAS}")]
    Cameras { found: usize },
    /// The number of planes does not match the number of cameras.
    #[error("there are {found} planes; there must be {expected}, three for each camera")]
    Planes { found: usize, expected: usize },
    /// A side of the panorama or its area is 0 or too large.
    #[error("the panorama is {}×{} pixels; each side must be 1 to {MAX_CANVAS_SIDE} pixels, and the area at most {MAX_CANVAS_AREA} pixels", size.x, size.y)]
    Size { size: UVec2 },
    /// A side of a source picture is 0 or too large.
    #[error("a source picture is {}×{} pixels; each side must be 1 to {MAX_SIDE} pixels", size.x, size.y)]
    SourceSize { size: UVec2 },
    /// A plane does not have one number for each pixel of the panorama.
    #[error(
        "plane {plane} has {found} numbers; it must have {expected}, one for each pixel of the panorama"
    )]
    Length { plane: String, found: usize, expected: usize },
    /// A number in a plane is NaN or infinite.
    #[error("plane {plane} is {value} at column {x}, row {y}; it must be a finite number")]
    NotFinite { plane: String, x: usize, y: usize, value: f32 },
    /// A weight in a plane is not from 0 to 1.
    #[error("plane {plane} is {value} at column {x}, row {y}; it must be 0 to 1")]
    Weight { plane: String, x: usize, y: usize, value: f32 },
}

/// A geometry could not be rendered to a warp.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The number of cameras, a size of the geometry, or a number that the device computed, is invalid for a warp.
    #[error("cannot render a warp: {0}")]
    Plane(#[from] PlaneError),
    /// The device failed, for instance because its memory is full.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
