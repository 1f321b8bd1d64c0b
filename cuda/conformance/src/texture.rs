//! Kernels that read textures. Format, filter and edge mode are properties of the texture, so two
//! kernels cover all combinations.

use cuda_std::prelude::*;
use glam::{UVec4, Vec2, Vec4};

use crate::global_rank;
use crate::memory::Quad;

/// Each thread reads the texture at its element of `coordinates`, and writes four floats.
#[kernel]
pub fn sample(texture: Texture2d<Vec4>, coordinates: Slice<Vec2>, out: SliceMut<Quad>) {
    let at = global_rank();
    if at < coordinates.len() && at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe {
            let Vec2 { x, y } = coordinates.load(at);
            out.store(at, Quad(texture.read(x, y).to_array()));
        }
    }
}

/// Each thread reads the texture at its element of `coordinates`, and writes four integers.
#[kernel]
pub fn sample_elements(
    texture: Texture2d<UVec4>,
    coordinates: Slice<Vec2>,
    out: SliceMut<[u32; 4]>,
) {
    let at = global_rank();
    if at < coordinates.len() && at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe {
            let Vec2 { x, y } = coordinates.load(at);
            out.store(at, texture.read(x, y).to_array());
        }
    }
}
