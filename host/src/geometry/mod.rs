//! The geometry of a panorama: its canvas, and the lenses and poses of its cameras. This module does not read pixels.
//!
//! A [`Geometry`] is computed from a camera rig ([`rig`]) or from a homography ([`homography`]). [`calibrate`] computes
//! a rig from correspondences between pictures, and [`intrinsics`] reads the lens calibrations of other tools.

pub mod calibrate;
mod crop;
pub mod homography;
pub mod intrinsics;
mod lens;
mod overlap;
pub mod rig;
mod vignetting;

use glam::{DVec2, UVec2};
use serde::{Deserialize, Serialize};

pub use crate::frame::MAX_CANVAS_SIDE;
pub(crate) use crop::{rectangle_of_cells, seen};
pub(crate) use lens::{border, pinhole_slope, unproject};
pub(crate) use overlap::is_full_circle;
pub use overlap::{CameraArea, CanvasBox, Meeting, Overlaps, PairOverlap};
pub use shared_types::warp::{Camera, Canvas};
pub use vignetting::Vignetting;
pub(crate) use vignetting::{MIDDLE, to_corner};

/// Maximum number of pixels of a panorama: 2²⁶, which is about six times 5700×1900. The six f32 planes of a warp with
/// this number of pixels take 1.6 GB.
pub const MAX_CANVAS_AREA: u64 = 1 << 26;

/// The canvas of a panorama and the cameras that fill it, in the order of their pictures. With two cameras: left,
/// right.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// The canvas of the panorama.
    pub canvas: Canvas,
    /// The cameras, in the order of their pictures.
    pub cameras: Vec<Camera>,
}

/// Returns whether a position in pixels is inside a picture of `size` pixels. As in the stitch kernels, both
/// coordinates must be at least 0 and less than the size.
pub(crate) fn inside(at: DVec2, size: UVec2) -> bool {
    at.cmpge(DVec2::ZERO).all() && at.cmplt(size.as_dvec2()).all()
}

/// OpenCV's camera matrix K without skew. Units are pixels; pixel centres are at integers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraMatrix {
    /// Horizontal focal length.
    pub fx: f64,
    /// Vertical focal length.
    pub fy: f64,
    /// Column of the principal point.
    pub cx: f64,
    /// Row of the principal point.
    pub cy: f64,
}
