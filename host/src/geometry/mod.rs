//! The geometry of a panorama: its canvas, and the lenses and poses of its cameras. This module does not read pixels.
//!
//! A [`Geometry`] is computed from a camera rig ([`rig`]) or from a homography ([`homography`]). [`calibrate`] computes
//! a rig from correspondences between pictures, and [`intrinsics`] reads the lens calibrations of other tools.

pub mod calibrate;
mod camera_matrix;
mod canvas;
mod crop;
pub mod homography;
pub mod intrinsics;
mod lens;
mod overlap;
pub mod rig;
mod vignetting;

pub use crate::frame::MAX_CANVAS_SIDE;
pub use camera_matrix::CameraMatrix;
pub(crate) use canvas::inside;
pub use canvas::{Geometry, MAX_CANVAS_AREA};
pub(crate) use crop::{rectangle_of_cells, seen};
pub(crate) use lens::{border, pinhole_slope, unproject};
pub(crate) use overlap::is_full_circle;
pub use overlap::{CameraArea, CanvasBox, Meeting, Overlaps, PairOverlap};
pub use shared_types::warp::{Camera, Canvas};
pub use vignetting::Vignetting;
pub(crate) use vignetting::{MIDDLE, to_corner};
