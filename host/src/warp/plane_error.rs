//! Errors of the numbers in a warp, and of rendering one.

use crate::device::DeviceError;
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
use crate::warp::Plane;
use glam::UVec2;
use thiserror::Error;

/// The numbers of a warp are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum PlaneError {
    /// The panorama has no pixels or too many.
    #[error("the panorama is {}×{} pixels; each side must be 1 to {MAX_CANVAS_SIDE}, and the area at most {MAX_CANVAS_AREA}", size.x, size.y)]
    Size { size: UVec2 },
    /// A source has no pixels or too many.
    #[error("a source is {}×{} pixels; each side must be 1 to {MAX_SIDE}", size.x, size.y)]
    SourceSize { size: UVec2 },
    /// A plane's length is not the number of pixels.
    #[error("{} has {found} numbers; it must have {expected}", plane.name())]
    Length { plane: Plane, found: usize, expected: usize },
    /// A number is NaN or infinite.
    #[error("{} is {value} at column {x}, row {y}; it must be a finite number", plane.name())]
    NotFinite { plane: Plane, x: usize, y: usize, value: f32 },
    /// A weight is out of range.
    #[error("{} is {value} at column {x}, row {y}; it must be 0 to 1", plane.name())]
    Weight { plane: Plane, x: usize, y: usize, value: f32 },
}

/// A geometry could not be rendered to a warp.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The geometry does not have two cameras.
    #[error("rendering a warp: the geometry has {0} cameras; it must have two")]
    Cameras(usize),
    /// Sizes or resulting numbers are invalid for a warp.
    #[error("rendering a warp: {0}")]
    Plane(#[from] PlaneError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
