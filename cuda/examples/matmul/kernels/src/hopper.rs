//! The product of matrices of [`bf16`] on the tensor cores of Hopper, which read both inputs from
//! shared memory.
//!
//! Both warpgroups of a block copy, and each multiplies half of the rows. In each step, a warpgroup
//! starts four products of depth 16, and the copies of a later step. It then waits for the products
//! of the step before. A warpgroup therefore has the products of up to two steps in flight, and a
//! copy has two steps to arrive.
//!
//! A block copies 48 KB per step, and its tensor cores need at least 1024 cycles for the products.
//! On an H100, the tensor cores are busy for 70 % of the cycles (measured with the same kernel in
//! CUDA C++, 4096³), and with cuBLAS for 95 %. The blocks of cuBLAS share inputs in pairs and copy
//! in bulk (clusters and TMA), which the kit does not support.

use cuda_std::prelude::*;
use cuda_std::tensor::warpgroup::{self, PANEL, Product, swizzled};
use cuda_std::{bf16, pipeline};

use crate::tile;

/// The number of rows and columns of the result that a block computes.
pub const TILE: [u32; 2] = [128, 256];

/// The number of threads per block: two warpgroups.
pub const BLOCK: u32 = 2 * warpgroup::THREADS;

/// The number of columns of A and rows of B in a step.
const DEPTH: u32 = 64;

/// The number of steps whose inputs are in shared memory or in flight.
const STAGES: u32 = 4;

/// The number of steps between the start of a copy and its use. When a copy starts, tensor cores
/// may still read the stages of this step and of the step before.
const AHEAD: u32 = STAGES - 2;

/// The number of elements in a stage: two panels of A and four of B.
const STAGE: u32 = 6 * PANEL;

/// The dynamic shared memory of a block in bytes. Stages must be aligned to 1024 bytes.
pub const SHARED_BYTES: u32 = STAGES * STAGE * 2 + 1024;

/// Writes `a · b` to `out`. Sums are `f32`, and the result is rounded once.
///
/// Does nothing if the sizes do not match, if rows are not aligned to 16 bytes, or if a block has
/// less than [`SHARED_BYTES`] of dynamic shared memory. Each tile of the result needs one block.
#[kernel(dims(1), launch_bounds(BLOCK, 1), block_multiple(BLOCK))]
pub fn product_hopper(a: View<bf16>, b: View<bf16>, out: ViewMut<bf16>) {
    let stages = shared::dynamic_shared_mem::<bf16>().aligned::<1024>();
    if !tile::can_multiply(a, b, out) || stages.len() < STAGES * STAGE {
        return;
    }
    let Some((top, left)) = tile::of_block::<bf16, { TILE[0] }, { TILE[1] }>(out) else { return };
    let is_whole = top + TILE[0] <= out.height()
        && left + TILE[1] <= out.width()
        && a.width().is_multiple_of(DEPTH);
    // SAFETY: the sizes, the alignment and the amount of shared memory were just checked. The tile
    // is in `out`, and no other block computes it.
    unsafe {
        if is_whole {
            multiply::<true>(a, b, out, stages, [top, left]);
        } else {
            multiply::<false>(a, b, out, stages, [top, left]);
        }
    }
}

/// Computes the tile of `out` from row `top` and column `left` on.
///
/// # Safety
/// The sizes must match, rows be aligned to 16 bytes, and `stages` have all stages. If `WHOLE` is
/// true, the tile must be inside `out`, and the width of `a` a multiple of [`DEPTH`].
#[inline(always)]
unsafe fn multiply<const WHOLE: bool>(
    a: View<bf16>,
    b: View<bf16>,
    out: ViewMut<bf16>,
    stages: Shared<bf16>,
    [top, left]: [u32; 2],
) {
    let steps = a.width().div_ceil(DEPTH);
    let t = thread::thread_idx_x();

    // Starts the copies of a step, in groups of 8 elements.
    let fetch = |step: u32| {
        let stage = step % STAGES * STAGE;
        let (group, first_row) = (t % 8, t / 8);
        for pass in 0..4 {
            let row = first_row + pass * 32;
            let to = stage + swizzled(row, group * 8);
            // SAFETY: the destination is in the stage, and a barrier follows its last use.
            unsafe { tile::copy::<_, WHOLE>(a, step * DEPTH + group * 8, top + row, stages, to) };
        }
        let (group, first_row) = (t % 32, t / 32);
        for pass in 0..8 {
            let row = first_row + pass * 8;
            let to = stage + (2 + group / 8) * PANEL + swizzled(row, group % 8 * 8);
            // SAFETY: as above.
            unsafe { tile::copy::<_, WHOLE>(b, left + group * 8, step * DEPTH + row, stages, to) };
        }
    };

    for step in 0..AHEAD {
        if step < steps {
            fetch(step);
        }
        pipeline::commit();
    }
    let half = t / warpgroup::THREADS;
    let mut product = Product::new();
    for step in 0..steps {
        pipeline::wait_prior::<{ AHEAD as usize - 1 }>();
        warpgroup::fence();
        thread::sync_threads();
        // SAFETY: all threads of the warpgroup get here. The stage has arrived, and the copies that
        // overwrite it start after the second barrier from here, when all warpgroups have waited
        // for this product.
        unsafe {
            let stage = stages.tail(step % STAGES * STAGE);
            product.add(stage.tail(half * PANEL), stage.tail(2 * PANEL));
        }
        if step + AHEAD < steps {
            fetch(step + AHEAD);
        }
        pipeline::commit();
        // SAFETY: all threads of the warpgroup get here.
        unsafe { product.wait_prior::<1>() };
    }
    let write = |row: u32, column: u32, pair: [f32; 2]| {
        // SAFETY: only this thread writes these elements, and they are in the tile.
        unsafe { tile::store_pair::<WHOLE>(out, left + column, top + half * 64 + row, pair) };
    };
    // SAFETY: all threads of the warpgroup get here.
    unsafe { product.finish(write) };
}
