//! Where everything is: the panorama's canvas and the cameras that look at it.
//!
//! This is what the warp kernel takes. It comes from a rig ([`crate::rig`]) or from a homography
//! ([`crate::homography`]).

mod crop;
mod lens;

use glam::{DVec2, UVec2};
use shared_types::warp::{Camera, Canvas};

pub(crate) use crop::largest_rectangle;
pub(crate) use lens::{border, unproject};

/// Widest and highest panorama, in pixels a side.
pub const MAX_CANVAS_SIDE: u32 = 32_768;

/// Most pixels of a panorama: 2²⁶, six times the 5700×1900 of the rig this was built for. Six f32
/// planes of that size are 1.6 GB.
pub const MAX_CANVAS_AREA: u64 = 1 << 26;

/// A canvas and the cameras in the order of their pictures (left, right).
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// The panorama.
    pub canvas: Canvas,
    /// What each camera sees of it.
    pub cameras: Vec<Camera>,
}

/// Whether a picture has something at a place, as the stitch has it: from 0 up to the size.
pub(crate) fn inside(at: DVec2, size: UVec2) -> bool {
    at.cmpge(DVec2::ZERO).all() && at.cmplt(size.as_dvec2()).all()
}
