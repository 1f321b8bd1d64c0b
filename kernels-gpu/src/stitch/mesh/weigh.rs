//! The kernel that rewrites a mesh's shares after the weights of a warp changed.

use crate::warp::camera::SourceLookup;
use cuda_std::prelude::*;
use glam::{UVec2, uvec2};
use shared_types::stitch::MIN_WEIGHT;
use shared_types::stitch::mesh::{
    Layer, NONE, REST, TILE, WEIGH_BLOCK, WEIGH_THREADS, WHOLE_SHARE,
};
use shared_types::warp::CameraPlanes;

/// Applies new weights of two cameras to a mesh, one block per tile. In tiles that have shares, rewrites the shares
/// and the first layer.
///
/// `base` contains the layers of the mesh as it was computed. `layers` has the same length, and only the first layer of
/// each tile is written. Both refer to `shares`. If a camera has no layer in a tile, its weights are ignored in this
/// tile. A tile stays unchanged if its first layer is missing in `base` or in `layers`.
///
/// # Safety
/// - Blocks must be [`WEIGH_BLOCK`].
/// - Every layer and share to which `base` refers must exist. Its cameras must be 0 (left) and 1 (right).
#[kernel(launch_bounds(WEIGH_THREADS, 2), barriers(1))]
pub unsafe fn mesh_weigh(
    base: Slice<Layer>,
    left: CameraPlanes,
    right: CameraPlanes,
    left_size: UVec2,
    right_size: UVec2,
    layers: SliceMut<Layer>,
    shares: SliceMut<u16>,
) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * left.width().div_ceil(TILE) + tile.x;
    if index >= base.len() || index >= layers.len() {
        return;
    }
    // SAFETY: `index` is less than the length of `base`, as just checked.
    let first = unsafe { base.load(index) };
    // This branch is uniform for the block, because the whole block reads the same layer.
    if first.shares == NONE {
        return;
    }
    // SAFETY: the caller guarantees that every layer to which `base` refers exists.
    let second = (first.next != NONE).then(|| unsafe { base.load(first.next) });
    let cameras = [
        SourceLookup { planes: left, size: left_size },
        SourceLookup { planes: right, size: right_size },
    ];
    // For the first and the second layer: whether the layer has the full share at all pixels, and whether it has any
    // share.
    let (mut whole, mut any) = ([true; 2], [false; 2]);
    let mut y = thread::thread_idx_y();
    while y < TILE {
        let in_tile = uvec2(thread::thread_idx_x(), y);
        let UVec2 { x, y: row } = tile * TILE + in_tile;
        let weight =
            |camera: SourceLookup| camera.source(x, row, MIN_WEIGHT).map_or(0.0, |(_, w)| w);
        let [a, b] = cameras.map(weight);
        let of = |layer: &Layer| if layer.camera == 0 { a } else { b };
        let [one, other] = [of(&first), second.as_ref().map_or(0.0, of)];
        let sum = one + other;
        let scale = if sum > 0.0 { WHOLE_SHARE / sum } else { 0.0 };
        let inside = left.contains(x, row);
        let mut store = |which: usize, layer: &Layer, weight: f32| {
            let share = (weight * scale).round_ties_even() as u16;
            whole[which] &= share == u16::MAX || !inside;
            any[which] |= share > 0;
            if layer.shares != REST {
                // SAFETY: the layer has shares for the whole tile, and only this thread writes this share.
                unsafe { shares.store(layer.shares + in_tile.y * TILE + in_tile.x, share) };
            }
        };
        store(0, &first, one);
        if let Some(second) = &second {
            store(1, second, other);
        }
        y += WEIGH_BLOCK[1];
    }
    let votes = shared_array![u32; WEIGH_BLOCK[1] as usize];
    // SAFETY: all lanes of all warps reach this code. One thread writes each vote, and thread 0 reads it after the
    // barrier.
    unsafe {
        let vote = |holds: bool| u32::from(warp::warp_vote_all(warp::FULL_MASK, holds));
        let vote = vote(whole[0]) | vote(whole[1]) << 1 | vote(!any[0]) << 2 | vote(!any[1]) << 3;
        if warp::lane_id() == 0 {
            votes.store(thread::rank() / 32, vote);
        }
        thread::sync_threads();
        if thread::rank() != 0 {
            return;
        }
        let mut vote = !0;
        let mut i = 0;
        while i < WEIGH_BLOCK[1] {
            vote &= votes.load(i);
            i += 1;
        }
        layers.store(index, merged(first, second, vote));
    }
}

/// Returns the new first layer of a tile whose shares were rewritten. The bits of `vote`, starting with the lowest one,
/// have these meanings:
///
/// - The first layer has the full share at all pixels.
/// - The second layer has the full share at all pixels.
/// - The first layer has no share.
/// - The second layer has no share.
#[inline(always)]
fn merged(first: Layer, second: Option<Layer>, vote: u32) -> Layer {
    let holds = |bit: u32| vote >> bit & 1 != 0;
    let (only_first, only_second) = (holds(3) || second.is_none(), holds(2));
    match second {
        _ if only_first && only_second => Layer::BLACK,
        // If only the second layer remains, `REST` gives it the full share.
        Some(second) if only_second => {
            let alone = holds(1) || second.shares == REST;
            Layer { shares: if alone { NONE } else { second.shares }, ..second }
        }
        _ if only_first => {
            Layer { shares: if holds(0) { NONE } else { first.shares }, next: NONE, ..first }
        }
        _ => first,
    }
}
