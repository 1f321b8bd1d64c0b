//! The product of matrices of [`bf16`] on the tensor cores of Ampere and later GPUs, which read
//! their inputs from registers.
//!
//! Each of the eight warps of a block computes 64 rows and 64 columns. For a product of depth 16, a
//! warp loads four matrices of A and four pairs of matrices of B with 8 instructions, and
//! multiplies with 32. While it multiplies, it loads the inputs of the next product. The 128 sums
//! and two sets of inputs take 192 registers of a thread.
//!
//! The loads read 32 KB of shared memory per product of depth 16, and the copies write 12 KB: 352
//! cycles at 128 bytes per cycle. The tensor cores of Hopper need about 420 cycles for these
//! products: with inputs from registers, an H100 reaches at most 656 of its 989 TFLOP/s.

use cuda_std::prelude::*;
use cuda_std::tensor::{self, Pair};
use cuda_std::{bf16, pipeline};

use crate::tile;

/// The number of rows and columns of the result that a block computes.
pub const TILE: [u32; 2] = [128, 256];

/// The number of threads per block.
pub const BLOCK: u32 = 256;

/// The number of columns of A and rows of B in a step.
const DEPTH: u32 = 64;

/// The number of steps whose inputs are in shared memory or in flight.
const STAGES: u32 = 3;

/// The number of elements of A and of both matrices in a stage.
const A_LEN: u32 = TILE[0] * DEPTH;
const STAGE: u32 = A_LEN + DEPTH * TILE[1];

/// The dynamic shared memory of a block in bytes.
pub const SHARED_BYTES: u32 = STAGES * STAGE * 2;

/// The part of the result that a warp computes: 4 by 8 matrices of 16×8 elements.
type Sums = [[[f32; 4]; 8]; 4];

/// The parts of A and B for one product of depth 16: 4 matrices of 16×16 elements, and 4 pairs of
/// matrices of 16×8 elements.
type Parts = ([[Pair<bf16>; 4]; 4], [[Pair<bf16>; 4]; 4]);

/// Writes `a · b` to `out`. Sums are `f32`, and the result is rounded once.
///
/// Does nothing if the sizes do not match, if rows are not aligned to 16 bytes, or if a block has
/// less than [`SHARED_BYTES`] of dynamic shared memory. Each tile of the result needs one block.
#[kernel(dims(1), launch_bounds(BLOCK, 1), block_multiple(BLOCK))]
pub fn product_bf16(a: View<bf16>, b: View<bf16>, out: ViewMut<bf16>) {
    let shared_len = shared::dynamic_shared_mem::<bf16>().len();
    if !tile::can_multiply(a, b, out) || shared_len < STAGES * STAGE {
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
    a: View<bf16>,
    b: View<bf16>,
    out: ViewMut<bf16>,
    [top, left]: [u32; 2],
) {
    let stages = shared::dynamic_shared_mem::<bf16>();
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
    pipeline::wait_prior::<{ STAGES as usize - 2 }>();
    thread::sync_threads();

    let lane = Lane::new(stages);
    let mut sums: Sums = [[[0.0; 4]; 8]; 4];
    let mut stage = 0;
    // SAFETY: the copies of each stage have arrived before a barrier, and all lanes of a warp get
    // to each load and to each product together.
    unsafe {
        let mut parts = [lane.load(0, 0); 2];
        for step in 0..steps {
            let following = if stage + STAGE == STAGES * STAGE { 0 } else { stage + STAGE };
            // After the last step, the loop loads parts of the same stage again and does not use
            // them.
            let next = if step + 1 == steps { stage } else { following };
            unrolled!(K in 0 1 2 3 {
                if K == 3 {
                    pipeline::wait_prior::<{ STAGES as usize - 2 }>();
                    thread::sync_threads();
                    parts[0] = lane.load(next, 0);
                } else {
                    parts[(K + 1) % 2] = lane.load(stage, K + 1);
                }
                if K == 0 {
                    fetch(step + STAGES - 1);
                }
                multiply_parts(&mut sums, &parts[K % 2]);
            });
            stage = next;
        }
        lane.write::<WHOLE>(&sums, out, [top, left]);
    }
}

/// Starts the copies of a step.
///
/// Each row of 64 elements has 8 groups of 8 elements. Their positions are exchanged depending on
/// the row, so that the 8 rows of a matrix are in different banks.
///
/// # Safety
/// The requirements are those of [`multiply`]. No thread may access the stage of the step.
#[inline(always)]
unsafe fn fetch<const WHOLE: bool>(
    a: View<bf16>,
    b: View<bf16>,
    stages: Shared<bf16>,
    [top, left]: [u32; 2],
    step: u32,
) {
    let t = thread::thread_idx_x();
    let stage = step % STAGES * STAGE;
    let (group, first_row) = (t % 8, t / 8);
    for pass in 0..TILE[0] / 32 {
        let row = first_row + pass * 32;
        let to = stage + row * DEPTH + (group ^ (row % 8)) * 8;
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { tile::copy::<_, WHOLE>(a, step * DEPTH + group * 8, top + row, stages, to) };
    }
    let (group, first_row) = (t % 32, t / 32);
    for pass in 0..DEPTH / 8 {
        let row = first_row + pass * 8;
        let to = stage + A_LEN + row * TILE[1] + (group ^ (row % 8)) * 8;
        // SAFETY: the reason is the same.
        unsafe { tile::copy::<_, WHOLE>(b, left + group * 8, step * DEPTH + row, stages, to) };
    }
}

/// The addresses that a lane passes to loads from the first stage. All others are at constant
/// distances from these.
struct Lane {
    /// One address for each product of a stage.
    a: [Shared<bf16>; 4],
    /// One address for each pair of matrices.
    b: [Shared<bf16>; 4],
}

impl Lane {
    #[inline(always)]
    fn new(stages: Shared<bf16>) -> Self {
        let (lane, [warp_row, warp_column]) = (thread::thread_idx_x() % 32, warp_tile());
        let (row, half) = (lane % 16, lane / 16);
        let swizzle = (half ^ (row % 8)) * 8;
        let a = (warp_row + row) * DEPTH;
        let b = A_LEN + row * TILE[1] + warp_column;
        // SAFETY: the elements are in the first stage.
        unsafe {
            Self {
                a: [0, 1, 2, 3].map(|k| stages.tail(a + (swizzle ^ (k * 16)))),
                b: [0, 1, 2, 3].map(|j| stages.tail(b + (swizzle ^ (j * 16)))),
            }
        }
    }

    /// Loads the parts for the product number `k` of a stage.
    ///
    /// # Safety
    /// The stage must exist. All lanes of the warp must make the same call.
    #[inline(always)]
    unsafe fn load(&self, stage: u32, k: usize) -> Parts {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let a = self.a[k].tail(stage);
            let b = self.b.map(|b| b.tail(stage));
            let rows = [0, 1, 2, 3].map(|i| tensor::load_matrices(a, i * 16 * DEPTH));
            let k = k as u32 * 16 * TILE[1];
            (rows, b.map(|b| tensor::load_matrices_transposed(b, k)))
        }
    }

    /// Writes the sums to the tile of `out` from row `top` and column `left` on.
    ///
    /// # Safety
    /// If `WHOLE` is true, the tile must be inside `out`.
    #[inline(always)]
    unsafe fn write<const WHOLE: bool>(
        &self,
        sums: &Sums,
        out: ViewMut<bf16>,
        [top, left]: [u32; 2],
    ) {
        let (lane, [warp_row, warp_column]) = (thread::thread_idx_x() % 32, warp_tile());
        let (row, column) = (top + warp_row + lane / 4, left + warp_column + lane % 4 * 2);
        unrolled!(I in 0 1 2 3 {
            unrolled!(HALF in 0 1 {
                let y = row + I as u32 * 16 + HALF as u32 * 8;
                for (j, sums) in (0..).zip(&sums[I]) {
                    let pair = [sums[HALF * 2], sums[HALF * 2 + 1]];
                    // SAFETY: only this thread writes these elements, and they are in the tile.
                    unsafe { tile::store_pair::<WHOLE>(out, column + j * 8, y, pair) };
                }
            });
        });
    }
}

/// Returns the first row and column of the warp's part of the tile.
#[inline(always)]
fn warp_tile() -> [u32; 2] {
    let warp = thread::thread_idx_x() / 32;
    [warp / 4 * 64, warp % 4 * 64]
}

/// Adds the products of the parts to `sums`.
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
unsafe fn multiply_parts(sums: &mut Sums, (a, b): &Parts) {
    unrolled!(I in 0 1 2 3 {
        for j in 0..8 {
            // Neighbours share an input, which the tensor core keeps.
            let j = if I & 1 == 0 { j } else { 7 - j };
            let pair = &b[j / 2];
            let b = [pair[j % 2 * 2], pair[j % 2 * 2 + 1]];
            // SAFETY: the caller upholds this function's safety contract.
            sums[I][j] = unsafe { tensor::mma_m16n8k16(a[I], b, sums[I][j]) };
        }
    });
}
