//! The kernels that run when the weights change: they compute the weights of each level, and the state of each tile.

use crate::multiband::pyramid::{
    find, first_cell, first_pixel, half, in_tile, reduced_weight, slot_index, staged_index,
};
use crate::multiband::survey::{SECOND_CELLS, second_cell};
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{UVec2, ivec2, uvec2};
use half::f16;
use shared_types::multiband::{
    BLOCK_THREADS, CameraPart, EMPTY, MIXED, NO_SLOTS, SLOT, TILE_CELLS, Task, Tile, WeightedCamera,
};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};

/// The number of cells of level 1 that a thread computes.
const RUNS: u32 = SLOT.div_ceil(BLOCK_THREADS);

/// Computes the weights of all cameras of a tile at levels 1 and 2, and the state of the tile, one block per tile. The
/// weights of level 1 go to the slots of the cameras, if the tile has slots, and those of level 2 to the image `second`
/// of all cameras. A pixel with a weight of at most [`MIN_WEIGHT`] counts as 0.
///
/// # Safety
/// Blocks must have [`BLOCK_THREADS`] threads. `second` must contain the parts of all cameras at level 2, and `states` an element for each tile. All slots must
/// exist. No two tiles may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(3))]
pub unsafe fn multiband_weigh(
    cameras: Table<WeightedCamera, MAX_CAMERAS>,
    size: UVec2,
    tiles: Slice<Tile>,
    first: SliceMut<f16>,
    second: ViewMut<f16>,
    states: SliceMut<u32>,
) {
    let staged = shared_array![f32; SLOT as usize];
    // The branch is uniform for the block.
    let Some(tile) = tiles.get(thread::block_idx_x()) else { return };
    // The cameras with any weight, and for each of the thread's pixels a bit: whether any camera has a weight.
    let (mut found, mut covered) = (0_u32, 0_u32);
    let (mut left, mut slot) = (tile.cameras, 0);
    while left != 0 {
        let index = left.trailing_zeros();
        left &= left - 1;
        // The branch is uniform for the block, too.
        let Some(WeightedCamera { part, weights }) = cameras.get(index) else { return };
        let mut any = false;
        for run in 0..RUNS {
            let i = thread::rank() + run * BLOCK_THREADS;
            if i < SLOT {
                let local = in_tile(i);
                let pixel = first_pixel(first_cell(&tile) + local.as_ivec2());
                let sum = reduced_weight!(|i, j| {
                    let at = pixel.wrapping_add(uvec2(i as u32, j as u32));
                    let mut weight = 0.0;
                    if weights.contains(at.x, at.y) {
                        // SAFETY: the plane contains the pixel, as just checked.
                        weight = unsafe { weights.load(at.x, at.y) };
                    }
                    if weight > MIN_WEIGHT {
                        if let (1 | 2, 1 | 2) = (i, j) {
                            covered |= 1 << (4 * run + (i + 2 * j) as u32 - 3);
                        }
                        weight
                    } else {
                        0.0
                    }
                });
                any |= sum > 0.0;
                // SAFETY: `i` is less than `SLOT`, and the caller guarantees that the slots exist. Only this thread
                // writes these elements.
                unsafe {
                    staged.store(staged_index(local), sum);
                    if tile.slots != NO_SLOTS {
                        first.store(slot_index(&tile, slot, i), half(sum));
                    }
                }
            }
        }
        if thread::sync_threads_or(any.into()) != 0 {
            found |= 1 << index;
        }
        if thread::rank() < SECOND_CELLS {
            let (local, place) = second_cell(&tile, thread::rank());
            // SAFETY: all elements were written before the barrier. The caller guarantees that the image contains the
            // part. Only this thread writes the cell.
            unsafe {
                let weight = reduced_weight!(|i, j| {
                    staged.load(staged_index(local + uvec2(i as u32, j as u32)))
                });
                if let Some(at) = find(&part, 2, place) {
                    second.store(at.x, at.y, half(weight));
                }
            }
        }
        // The next camera replaces the elements.
        thread::sync_threads();
        slot += 1;
    }
    let mut missing = false;
    for run in 0..RUNS {
        let local = in_tile(thread::rank() + run * BLOCK_THREADS);
        let pixel = first_pixel(first_cell(&tile) + local.as_ivec2());
        let [columns, rows] = TILE_CELLS;
        if (1..columns - 1).contains(&local.x) && (1..rows - 1).contains(&local.y) {
            unroll!(4, |k| {
                let at = pixel.wrapping_add(uvec2(1 + k as u32 % 2, 1 + k as u32 / 2));
                let shown = at.x < size.x && at.y < size.y;
                missing |= shown && covered & 1 << (4 * run + k as u32) == 0;
            });
        }
    }
    let whole = thread::sync_threads_or(missing.into()) == 0;
    if thread::rank() == 0 && thread::block_idx_x() < states.len() {
        let state = match found {
            0 => EMPTY,
            _ if whole && found & (found - 1) == 0 => found.trailing_zeros(),
            _ => MIXED,
        };
        // SAFETY: the element exists, as just checked, and only this thread writes it.
        unsafe { states.store(thread::block_idx_x(), state) };
    }
}

/// Lists all tiles with their states, in one block: first the [`MIXED`] ones, which take longest, and last the [`EMPTY`]
/// ones. The order is otherwise undefined.
///
/// # Safety
/// `tasks` must have an element for each tile, and each tile a state. The launch must have one block.
#[kernel(launch_bounds(BLOCK_THREADS), barriers(2))]
pub unsafe fn multiband_order(tiles: Slice<Tile>, states: Slice<u32>, tasks: SliceMut<Task>) {
    let counts = shared_array![u32; 2];
    // SAFETY: one thread per element writes the counts before the barrier, and then they are only changed atomically. The
    // caller guarantees the conditions of `list`.
    unsafe {
        if thread::rank() < 2 {
            counts.store(thread::rank(), 0);
        }
        thread::sync_threads();
        // Mixed tiles are listed from the front and empty ones from the back, and then the others between them.
        list(tiles, states, tasks, counts, true);
        thread::sync_threads();
        list(tiles, states, tasks, counts, false);
    }
}

/// Lists the tiles that are [`MIXED`] or [`EMPTY`], if `ends` is set, or otherwise all others. `counts` has the number of
/// tasks at the front and at the back.
///
/// # Safety
/// The conditions of [`multiband_order`] apply.
#[device]
unsafe fn list(
    tiles: Slice<Tile>,
    states: Slice<u32>,
    tasks: SliceMut<Task>,
    counts: Shared<u32>,
    ends: bool,
) {
    let mut i = thread::rank();
    while i < tiles.len() {
        // SAFETY: the caller guarantees that the elements exist. Each tile gets another position.
        unsafe {
            let (tile, state) = (tiles.load(i), states.load(i));
            if (state == MIXED || state == EMPTY) == ends {
                let at = if state == EMPTY {
                    tiles.len() - 1 - counts.atomic_add(1, 1)
                } else {
                    counts.atomic_add(0, 1)
                };
                tasks.store(at, Task { tile, state, reserved: [0; 3] });
            }
        }
        i += BLOCK_THREADS;
    }
}

/// Computes the weights of all cameras at level `level` from those of the level before. The index of a block along z is
/// that of a camera.
///
/// # Safety
/// The images must contain the parts of all cameras at the levels `level - 1` and `level`.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(3))]
pub unsafe fn multiband_reduce(
    parts: Table<CameraPart, MAX_CAMERAS>,
    level: u32,
    weights: View<f16>,
    out: ViewMut<f16>,
) {
    let Some(part) = parts.get(thread::block_idx_z()) else { return };
    let place = (thread::index_2d() + (part.min >> level)).as_ivec2();
    let Some(to) = find(&part, level, place) else { return };
    let first = place * 2 - 1;
    let weight = reduced_weight!(|i, j| {
        match find(&part, level - 1, first + ivec2(i as i32, j as i32)) {
            // SAFETY: the cell is in the part, which the caller guarantees that the image contains.
            Some(at) => unsafe { weights.load(at.x, at.y) }.widen(),
            None => 0.0,
        }
    });
    // SAFETY: the reason is the same. Only this thread writes the cell.
    unsafe { out.store(to.x, to.y, half(weight)) };
}
