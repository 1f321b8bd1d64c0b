//! The canvas of a panorama together with its cameras, which is the input of the warp kernel.

use glam::{DVec2, UVec2};
use shared_types::warp::{Camera, Canvas};

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
