//! Displacements of the cameras of a warp. [`ops::refine`](crate::ops::refine) measures them.

use glam::{UVec2, Vec2};
use kernels_gpu::warp::shift::WarpShift;
use shared_types::warp::BLOCK;

use super::{DeviceWarp, planes};
use crate::device::{DeviceError, Image, LaunchConfig, Stream};

/// The displacements of all cameras on a coarse grid over the panorama. The first node is at the first pixel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refinement {
    /// The number of columns and rows of the grid.
    pub nodes: UVec2,
    /// The distance between nodes in panorama pixels.
    pub spacing: f32,
    /// The displacements of each camera in panorama pixels, row by row. At the panorama position `p`, a refined camera
    /// shows what it showed at `p + shift` before.
    pub shifts: Vec<Vec<Vec2>>,
}

impl DeviceWarp {
    /// Returns a copy of the warp with moved cameras. The warp's first camera is number `camera` of the refinement, and
    /// the others follow. The warp's pixel `p` is the pixel `origin + step · p` of the refinement's panorama.
    #[track_caller]
    pub(crate) fn refined(
        &self,
        stream: &Stream,
        refinement: &Refinement,
        camera: usize,
        (origin, step): (UVec2, u32),
    ) -> Result<Self, DeviceError> {
        self.await_ready(stream)?;
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        let (nodes, step) = (refinement.nodes, step as f32);
        let (first, spacing) = (-origin.as_vec2() / step, refinement.spacing / step);
        let moved = |(own, shifts): (usize, &Vec<Vec2>)| {
            let shifts: Vec<_> = shifts.iter().map(|shift| *shift / step).collect();
            let shifts = Image::from_slice(stream, nodes.x, nodes.y, &shifts)?;
            let [mut x, mut y, mut weights] = planes(stream, self.size)?;
            let (planes, size) = (self.planes(own)?, self.sources[own]);
            let (shifts, u, v) = (shifts.view(), x.view_mut(), y.view_mut());
            stream.launch(&config, &WarpShift { planes, size, shifts, first, spacing, u, v })?;
            weights.copy_from(stream, &self.weights[own])?;
            Ok::<_, DeviceError>([x, y, weights])
        };
        let shifts = refinement.shifts[camera..].iter().take(self.sources.len());
        let planes = shifts.enumerate().map(moved).collect::<Result<_, _>>()?;
        Self::filled(stream, self.size, self.sources.clone(), planes)
    }
}
