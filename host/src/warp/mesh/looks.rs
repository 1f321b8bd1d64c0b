//! The input of a mesh fit: the size of the panorama, and source coordinates and weights per camera.
//!
//! The planes are borrowed from a [`Warp`] or rendered from a geometry, which may have more than two cameras.

use glam::UVec2;

use crate::warp::Warp;

/// Source coordinates and weights of each camera for a panorama's pixels.
pub(in crate::warp) struct Looks<'a> {
    /// Size of the panorama.
    pub(in crate::warp) size: UVec2,
    /// Sizes of the cameras' pictures.
    pub(in crate::warp) sources: &'a [UVec2],
    /// The planes of each camera: columns, rows and weights.
    pub(in crate::warp) planes: Vec<[&'a [f32]; 3]>,
}

impl<'a> From<&'a Warp> for Looks<'a> {
    fn from(warp: &'a Warp) -> Self {
        let [left_x, left_y, right_x, right_y, left, right] = warp.planes().each_ref();
        let planes = vec![[&left_x[..], left_y, left], [right_x, right_y, right]];
        Self { size: warp.size(), sources: &warp.sources, planes }
    }
}
