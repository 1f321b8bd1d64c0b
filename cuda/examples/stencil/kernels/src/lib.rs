//! A 3-D stencil in the shape of a star: each point becomes a weighted sum of itself and its
//! neighbours along x, y and z, up to a distance of `R`.
//!
//! A block moves through the volume along z, plane by plane. Its threads share the current plane in
//! shared memory. Each thread keeps the points before and behind its own in registers, so every
//! point of the block's columns is read from global memory only once.

mod queue;
mod tile;

use cuda_std::prelude::*;
use glam::{UVec2, UVec3};

use queue::Queue;
use tile::{Border, Tile};

/// The number of threads of a block along x.
pub const BLOCK_X: u32 = 32;

/// The number of threads of a block along y.
pub const BLOCK_Y: u32 = 16;

/// Returns the number of points of a volume, or `None` if it exceeds a `u32`.
#[inline(always)]
#[must_use]
pub fn points(size: UVec3) -> Option<u32> {
    size.x.checked_mul(size.y)?.checked_mul(size.z)
}

/// Computes the points of `out` whose distance from every side of the volume is at least `R`, and
/// leaves the others unchanged.
///
/// The volume has `size` points, with x fastest. The weight of a point itself is `centre`, and that
/// of its neighbours at the distance `d` is `weights[d - 1]`. Does nothing if a slice is too short or
/// a block does not have [`BLOCK_X`] × [`BLOCK_Y`] threads.
#[kernel(
    dims(2),
    launch_bounds(BLOCK_X * BLOCK_Y),
    instances(star_1 = star::<1>, star_4 = star::<4>)
)]
pub fn star<const R: usize>(
    input: Slice<f32>,
    out: SliceMut<f32>,
    size: UVec3,
    centre: f32,
    weights: [f32; R],
) {
    let r = R as u32;
    let is_whole_block = thread::block_dim_x() == BLOCK_X && thread::block_dim_y() == BLOCK_Y;
    let is_complete = points(size).is_some_and(|points| points <= input.len().min(out.len()));
    if !is_whole_block || !is_complete || size.min_element() <= 2 * r {
        return;
    }
    // Threads outside the volume load the points at its side, and store nothing.
    let last = size - 1;
    let index = |point: UVec2| point.y.min(last.y) * size.x + point.x.min(last.x);
    // SAFETY: `z` is less than `size.z`, and `index` returns the index of a point in the plane.
    let load = |index: u32, z: u32| unsafe { input.load(z * (size.x * size.y) + index) };

    let thread = thread::thread_idx().truncate();
    let block = thread::index_2d() - thread;
    let point = block + thread + r;
    let (own, is_inside) = (index(point), point.x + r <= last.x && point.y + r <= last.y);
    let border = Border::of_thread::<R>();
    let border_index = index(block + border.point);
    let load_border = |z: u32| if border.exists { load(border_index, z) } else { 0.0 };

    let tile = Tile::<R>::new();
    let mut queue = Queue::<R>::new(|z| load(own, z));
    let mut at_border = load_border(r);
    for z in r..size.z - r {
        // SAFETY: each thread writes its own elements. The buffers alternate, so threads that still
        // compute the previous plane read the other buffer.
        unsafe {
            tile.store(z, thread + r, queue.current);
            if border.exists {
                tile.store(z, border.point, at_border);
            }
        }
        thread::sync_threads();
        // These loads are in flight while the threads compute this plane.
        let is_last = z + r == last.z;
        let next = if is_last { 0.0 } else { load(own, z + r + 1) };
        at_border = if is_last { 0.0 } else { load_border(z + 1) };
        // SAFETY: the thread's point is not in the border.
        let around = unsafe { tile.around(z, thread + r) };
        let mut sum = centre * queue.current;
        #[expect(
            clippy::needless_range_loop,
            reason = "an iterator would keep the weights in local memory"
        )]
        for k in 0..R {
            // SAFETY: the elements were written before the barrier, and `k + 1` is at most `R`.
            let in_plane = unsafe { around.neighbours(k as u32 + 1) };
            sum += weights[k] * (queue.before[k] + queue.after[k] + in_plane);
        }
        if is_inside {
            // SAFETY: the point is inside the volume, and no other thread has the same column.
            unsafe { out.store(z * (size.x * size.y) + own, sum) };
        }
        queue.advance(next);
    }
}
