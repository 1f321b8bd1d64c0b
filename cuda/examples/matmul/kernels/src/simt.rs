//! The product of matrices of `f32` on the ordinary arithmetic units.
//!
//! Each thread computes 16 rows and 8 columns. For four products of each of its 128 sums, it loads
//! 16 times four elements of A and 8 times four elements of B, so 24 loads serve 512
//! multiply-adds. The rows of a thread are 4 apart, and its columns form two groups of 4 that are
//! 32 apart. A warp then reads shared memory without bank conflicts.

use bytemuck::{Pod, Zeroable};
use cuda_std::pipeline;
use cuda_std::prelude::*;

use crate::tile;

/// The number of rows and columns of the result that a block computes.
pub const TILE: [u32; 2] = [128, 256];

/// The number of threads per block.
pub const BLOCK: u32 = 256;

/// The number of columns of A and rows of B in a step.
const DEPTH: u32 = 16;

/// The number of steps whose inputs are in shared memory or in flight.
const STAGES: u32 = 3;

/// The distance of the rows of A in shared memory. With 4 additional elements, 4 consecutive rows
/// are in different banks.
const PITCH: u32 = DEPTH + 4;

const A_LEN: u32 = TILE[0] * PITCH;
const STAGE: u32 = A_LEN + DEPTH * TILE[1];

/// The dynamic shared memory of a block in bytes.
pub const SHARED_BYTES: u32 = STAGES * STAGE * 4;

/// Four elements that one instruction loads or stores.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
struct Quad([f32; 4]);

/// The sums of a thread: 16 rows and 8 columns.
type Sums = [[f32; 8]; 16];

/// Writes `a · b` to `out`.
///
/// Does nothing if the sizes do not match, if rows are not aligned to 16 bytes, or if a block has
/// less than [`SHARED_BYTES`] of dynamic shared memory. Each tile of the result needs one block.
#[kernel(dims(1), launch_bounds(BLOCK, 1), block_multiple(BLOCK))]
pub fn product_f32(a: View<f32>, b: View<f32>, out: ViewMut<f32>) {
    let shared_len = shared::dynamic_shared_mem::<f32>().len();
    if !tile::can_multiply(a, b, out) || shared_len < STAGES * STAGE {
        return;
    }
    let Some((top, left)) = tile::of_block::<f32, { TILE[0] }, { TILE[1] }>(out) else { return };
    let is_whole = top + TILE[0] <= out.height()
        && left + TILE[1] <= out.width()
        && a.width().is_multiple_of(DEPTH);
    // SAFETY: the sizes, the alignment and the amount of shared memory were just checked. The tile
    // is in `out`, and no other block computes it.
    unsafe {
        if is_whole {
            multiply::<true>(a, b, out, [top, left]);
        } else {
            multiply::<false>(a, b, out, [top, left]);
        }
    }
}

/// Computes the tile of `out` from row `top` and column `left` on.
///
/// # Safety
/// The sizes must match, rows be aligned to 16 bytes, and the block have enough shared memory. If
/// `WHOLE` is true, the tile must be inside `out`, and the width of `a` a multiple of [`DEPTH`].
#[inline(always)]
unsafe fn multiply<const WHOLE: bool>(
    a: View<f32>,
    b: View<f32>,
    out: ViewMut<f32>,
    [top, left]: [u32; 2],
) {
    let stages = shared::dynamic_shared_mem::<f32>();
    let steps = a.width().div_ceil(DEPTH);
    let fetch = |step: u32| {
        if step < steps {
            // SAFETY: the caller upholds this function's safety contract. The stage belongs to the
            // step before the current one, and a barrier follows its last use.
            unsafe { fetch::<WHOLE>(a, b, stages, [top, left], step) };
        }
        pipeline::commit();
    };
    for step in 0..STAGES - 1 {
        fetch(step);
    }

    // A thread computes rows `row + 4 i`, and columns `column + j` and `column + 32 + j` for `j`
    // less than 4.
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let (row, column) = (warp / 4 * 64 + lane / 8, warp % 4 * 64 + lane % 8 * 4);
    let quads = shared::dynamic_shared_mem::<Quad>();
    // SAFETY: the elements are in the first stage.
    let (a_lane, b_lane) =
        unsafe { (quads.tail(row * PITCH / 4), quads.tail((A_LEN + column) / 4)) };
    let mut sums: Sums = [[0.0; 8]; 16];
    let mut stage = 0;
    for step in 0..steps {
        pipeline::wait_prior::<{ STAGES as usize - 2 }>();
        thread::sync_threads();
        fetch(step + STAGES - 1);
        // SAFETY: the elements are in the stage, whose copies have arrived before the barrier.
        unsafe { multiply_stage(&mut sums, a_lane.tail(stage), b_lane.tail(stage)) };
        stage = if stage + STAGE / 4 == STAGES * STAGE / 4 { 0 } else { stage + STAGE / 4 };
    }
    // SAFETY: the caller upholds this function's safety contract. Only this thread writes these
    // elements.
    unsafe { write::<WHOLE>(&sums, out, left + column, top + row) };
}

/// Starts the copies of a step.
///
/// # Safety
/// The requirements are those of [`multiply`]. No thread may access the stage of the step.
#[inline(always)]
unsafe fn fetch<const WHOLE: bool>(
    a: View<f32>,
    b: View<f32>,
    stages: Shared<f32>,
    [top, left]: [u32; 2],
    step: u32,
) {
    let t = thread::thread_idx_x();
    let stage = step % STAGES * STAGE;
    let (group, first_row) = (t % 4, t / 4);
    for pass in 0..2 {
        let row = first_row + pass * 64;
        let to = stage + row * PITCH + group * 4;
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { tile::copy::<_, WHOLE>(a, step * DEPTH + group * 4, top + row, stages, to) };
    }
    let (group, first_row) = (t % 64, t / 64);
    for pass in 0..4 {
        let row = first_row + pass * 4;
        let to = stage + A_LEN + row * TILE[1] + group * 4;
        // SAFETY: the reason is the same.
        unsafe { tile::copy::<_, WHOLE>(b, left + group * 4, step * DEPTH + row, stages, to) };
    }
}

/// Adds the products of a stage to `sums`. The arrays begin with the first elements of the thread.
///
/// # Safety
/// The arrays must extend to the end of the stage, and no thread may write them.
#[inline(always)]
unsafe fn multiply_stage(sums: &mut Sums, a_stage: Shared<Quad>, b_stage: Shared<Quad>) {
    unrolled!(K4 in 0 1 2 3 {
        let mut a = [Quad([0.0; 4]); 16];
        for (i, a) in (0..).zip(&mut a) {
            // SAFETY: the caller upholds this function's safety contract.
            *a = unsafe { a_stage.load(i * PITCH + K4 as u32) };
        }
        unrolled!(K in 0 1 2 3 {
            let b_at = (K4 * 4 + K) as u32 * (TILE[1] / 4);
            // SAFETY: the reason is the same.
            let b = unsafe { [b_stage.load(b_at), b_stage.load(b_at + 8)] };
            unrolled!(I in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                for (j, sum) in sums[I].iter_mut().enumerate() {
                    *sum = a[I].0[K].mul_add(b[j / 4].0[j % 4], *sum);
                }
            });
        });
    });
}

/// Writes the sums, of which the first belongs to column `x` and row `y`.
///
/// # Safety
/// If `WHOLE` is true, the elements must exist. No other thread may access them.
#[inline(always)]
unsafe fn write<const WHOLE: bool>(sums: &Sums, out: ViewMut<f32>, x: u32, y: u32) {
    unrolled!(I in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        unrolled!(J in 0 1 {
            let (x, y) = (x + J as u32 * 32, y + I as u32 * 4);
            let [a, b, c, d, e, f, g, h] = sums[I];
            let quad = if J == 0 { [a, b, c, d] } else { [e, f, g, h] };
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                if WHOLE || (y < out.height() && x + 3 < out.width()) {
                    out.store_wide(x, y, Quad(quad));
                } else if y < out.height() {
                    unrolled!(E in 0 1 2 3 {
                        if x + (E as u32) < out.width() {
                            out.store(x + E as u32, y, quad[E]);
                        }
                    });
                }
            }
        });
    });
}
