//! Kernels with reductions over a warp and over a block.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::{block_threads, global_rank, load_or_zero, whole_warps};

/// Defines a kernel in which each thread writes the sum, minimum and maximum over its warp.
macro_rules! reduce_warp {
    ($name:ident, $type:ty) => {
        #[doc = concat!("Sums `", stringify!($type), "` per warp and finds minimum and maximum.")]
        #[kernel]
        pub fn $name(input: Slice<$type>, out: SliceMut<[$type; 3]>) {
            let at = global_rank();
            if !whole_warps() {
                return;
            }
            let value = load_or_zero(input, at);
            // SAFETY: every warp has 32 lanes, which reach this call together.
            let reduced = unsafe {
                [
                    warp::warp_reduce_add(value),
                    warp::warp_reduce_min(value),
                    warp::warp_reduce_max(value),
                ]
            };
            if at < out.len() {
                // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
                unsafe { out.store(at, reduced) };
            }
        }
    };
}

reduce_warp!(reduce_warp_u32, u32);
reduce_warp!(reduce_warp_i32, i32);
reduce_warp!(reduce_warp_f32, f32);
reduce_warp!(reduce_warp_u64, u64);
reduce_warp!(reduce_warp_f64, f64);

/// Each thread writes the sum of `a` over its warp, modulo 2³², and the byte dot product `dp4a` of
/// its elements of `a`, `b` and `c`.
#[kernel]
pub fn reduce_words(a: Slice<u32>, b: Slice<u32>, c: Slice<u32>, out: SliceMut<[u32; 2]>) {
    let at = global_rank();
    if !whole_warps() {
        return;
    }
    let (a, b, c) = (load_or_zero(a, at), load_or_zero(b, at), load_or_zero(c, at));
    // SAFETY: every warp has 32 lanes, which reach this call together.
    let sum = unsafe { warp::warp_reduce(warp::FULL_MASK, a, warp::WarpReductionOp::Add) };
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, [sum, dp4a(a, b, c)]) };
    }
}

/// Computes the sum over each block: first the sum of each warp, and then the sum of these sums in
/// shared memory. Writes one element per block.
#[kernel(barriers(1), dims(1))]
pub fn reduce_block(input: Slice<f32>, out: SliceMut<f32>) {
    let sums = shared_array![f32; 32];
    let (at, rank) = (global_rank(), thread::rank());
    if !whole_warps() {
        return;
    }
    let value = load_or_zero(input, at);
    // SAFETY: every warp has 32 lanes, which reach this call together. A block has at most 32
    // warps, and one lane of each warp writes the warp's element of `sums`.
    unsafe {
        let sum = warp::warp_reduce_add(value);
        if rank.is_multiple_of(WARP_SIZE) {
            sums.store(rank / WARP_SIZE, sum);
        }
    }
    thread::sync_threads();
    if rank < WARP_SIZE {
        // SAFETY: the first warp has 32 lanes, and nothing writes `sums` after the barrier.
        let sum = unsafe {
            let warps = block_threads() / WARP_SIZE;
            warp::warp_reduce_add(if rank < warps { sums.load(rank) } else { 0.0 })
        };
        if rank == 0 && thread::block_idx_x() < out.len() {
            // SAFETY: the index was just checked, and each block writes its own element.
            unsafe { out.store(thread::block_idx_x(), sum) };
        }
    }
}
