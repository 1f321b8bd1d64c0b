//! Meshes of warps: where a patch shows a pixel. The kernels that stitch by them are to come.

#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat;
use glam::{Vec2, vec2};
use shared_types::mesh::{Patch, TILE};

/// A patch along one column of its tile: quadratic, so that a pixel takes two multiply-adds a coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Line([[f32; 3]; 2]);

impl Line {
    /// Along the tile's column `x`.
    #[inline(always)]
    #[must_use]
    pub fn new(patch: &Patch, x: u32) -> Self {
        let x = from_middle(x);
        let along = |[c, cx, cy, cxx, cxy, cyy]: [f32; 6]| {
            [cxx.mul_add(x, cx).mul_add(x, c), cxy.mul_add(x, cy), cyy]
        };
        Self([along(patch.u), along(patch.v)])
    }

    /// At the tile's row `y`.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, y: u32) -> Vec2 {
        let y = from_middle(y);
        let [u, v] = self.0.map(|[c, cy, cyy]| cyy.mul_add(y, cy).mul_add(y, c));
        vec2(u, v)
    }
}

/// How far a column or row of a tile is from its middle.
#[inline(always)]
fn from_middle(pixel: u32) -> f32 {
    pixel as f32 - 0.5 * (TILE - 1) as f32
}
