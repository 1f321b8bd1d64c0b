//! Kernels that write or use thread indices in one, two and three dimensions.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::global_rank;

/// All indices and dimensions that a thread can query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadPlace {
    /// The result of `thread_idx`.
    pub thread: [u32; 3],
    /// The result of `block_idx`.
    pub block: [u32; 3],
    /// The result of `block_dim`.
    pub block_dim: [u32; 3],
    /// The result of `grid_dim`.
    pub grid_dim: [u32; 3],
    /// The result of `index_1d`.
    pub index_1d: u32,
    /// The result of `index_2d`.
    pub index_2d: [u32; 2],
    /// The result of `index_3d`.
    pub index_3d: [u32; 3],
    /// The result of `index`.
    pub index: u32,
    /// The result of `first`.
    pub first: u32,
    /// The result of `rank`.
    pub rank: u32,
    /// The result of `lane_id`.
    pub lane: u32,
}

/// Each thread writes its indices to its element of `out`.
#[kernel(dims(3))]
pub fn indices(out: SliceMut<ThreadPlace>) {
    let at = global_rank();
    if at < out.len() {
        let indices = ThreadPlace {
            thread: thread::thread_idx().to_array(),
            block: thread::block_idx().to_array(),
            block_dim: thread::block_dim().to_array(),
            grid_dim: thread::grid_dim().to_array(),
            index_1d: thread::index_1d(),
            index_2d: thread::index_2d().to_array(),
            index_3d: thread::index_3d().to_array(),
            index: thread::index(),
            first: (thread::index() == 0).into(),
            rank: thread::rank(),
            lane: warp::lane_id(),
        };
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, indices) };
    }
}

/// Each thread of a two-dimensional grid writes `1000·y + x` to its pixel.
#[kernel(launch_bounds(256), dims(3))]
pub fn pixels(out: ViewMut<u32>) {
    let at = thread::index_2d();
    if out.contains(at.x, at.y) {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own pixel.
        unsafe { out.store(at.x, at.y, 1000 * at.y + at.x) };
    }
}

/// Each thread adds 1 to the element of `out` at the index of its block.
#[kernel(dims(3))]
pub fn count_threads(out: SliceMut<u32>) {
    let (block, grid) = (thread::block_idx(), thread::grid_dim());
    let at = (block.z * grid.y + block.y) * grid.x + block.x;
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above), and all accesses to `out` are atomic.
        unsafe { atomic::AtomicAdd::atomic_add(out.atomic(at), 1) };
    }
}
