//! The input from which a mesh is computed: the size of the panorama, and the source coordinates and weights of each
//! camera.
//!
//! The planes belong to a [`Warp`], or were downloaded from a device.

use glam::UVec2;

use crate::warp::{Plane, Warp};

/// The source coordinates and the weights of each camera at all pixels of a panorama.
pub(in crate::warp) struct MeshInput<'a> {
    /// The size of the panorama in pixels.
    pub(in crate::warp) size: UVec2,
    /// The sizes of the cameras' pictures in pixels.
    pub(in crate::warp) sources: &'a [UVec2],
    /// The planes of each camera: source columns, source rows and weights.
    pub(in crate::warp) planes: Vec<[&'a [f32]; 3]>,
}

impl<'a> From<&'a Warp> for MeshInput<'a> {
    fn from(warp: &'a Warp) -> Self {
        let cameras = 0..warp.sources.len();
        let of = |camera| [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)];
        let planes = cameras.map(|camera| of(camera).map(|plane| warp.plane(plane))).collect();
        Self { size: warp.size(), sources: &warp.sources, planes }
    }
}
