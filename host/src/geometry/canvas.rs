//! The panorama's canvas and the cameras that look at it: the input of the warp kernel.

use glam::{DVec2, UVec2};
use shared_types::warp::{Camera, Canvas};

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
