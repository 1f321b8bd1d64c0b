//! Meshes of warps: where a patch shows a pixel. The kernels that stitch by them are to come.

use glam::{Vec2, vec2};
use shared_types::mesh::{Patch, TILE};

use crate::patch::{Line, fused};

/// Where a patch shows a pixel of its tile.
#[inline(always)]
#[must_use]
pub fn place(patch: &Patch, x: u32, y: u32) -> Vec2 {
    line(patch, x).at(from_middle(y))
}

/// A patch along a column of its tile, by how far a row is from the middle.
#[inline(always)]
fn line(Patch { u, v }: &Patch, x: u32) -> Line {
    let x = from_middle(x);
    let [c, cx, cy, cxx, cxy, cyy] = core::array::from_fn(|i| vec2(u[i], v[i]));
    Line { start: fused(fused(cxx, x, cx), x, c), slope: fused(cxy, x, cy), bend: cyy }
}

/// How far a column or row of a tile is from its middle.
#[inline(always)]
fn from_middle(pixel: u32) -> f32 {
    pixel as f32 - 0.5 * (TILE - 1) as f32
}
