//! The canvas of the panorama and its cameras: the input of the warp kernel.

use glam::{DVec2, UVec2};
use shared_types::warp::{Camera, Canvas};

/// Maximum number of pixels of a panorama: 2²⁶, six times the original rig's 5700×1900. Six f32 planes of that size
/// take 1.6 GB.
pub const MAX_CANVAS_AREA: u64 = 1 << 26;

/// A canvas and the cameras in the order of their pictures (left, right).
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// The panorama.
    pub canvas: Canvas,
    /// The cameras as the warp kernel takes them.
    pub cameras: Vec<Camera>,
}

/// Returns whether a pixel position lies inside a picture by the rule of the stitch: from 0 up to, but not including,
/// the size.
pub(crate) fn inside(at: DVec2, size: UVec2) -> bool {
    at.cmpge(DVec2::ZERO).all() && at.cmplt(size.as_dvec2()).all()
}
