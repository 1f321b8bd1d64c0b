//! The sum of a slice, in one launch.
//!
//! 1. Each thread adds elements that are far apart, so that the threads of a warp read adjacent
//!    memory.
//! 2. The threads of a block add their sums with warp shuffles and shared memory.
//! 3. The last block to finish adds the sums of all blocks, always in the same order. The result
//!    therefore has the same bits in every run with the same number of blocks.

use core::ops::Add;

use bytemuck::Pod;
use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use glam::Vec4;

/// The maximum number of threads per block.
pub const BLOCK: u32 = 256;

/// The number of elements that a thread loads before it adds them. Several loads in flight hide the
/// latency of memory.
pub const IN_FLIGHT: u32 = 4;

/// An element, or a group of elements that the kernel loads with one instruction.
pub trait Group: Pod + Add<Output = Self> {
    /// Returns the sum of the elements in the group.
    fn total(self) -> f32;
}

impl Group for f32 {
    #[inline(always)]
    fn total(self) -> f32 {
        self
    }
}

impl Group for Vec4 {
    #[inline(always)]
    fn total(self) -> f32 {
        self.element_sum()
    }
}

/// Writes the sum of `input` to `out[0]`.
///
/// `partial` needs an element for each block. `finished[0]` counts the blocks that have finished. It
/// must be 0 before the launch, and is 0 again after it.
#[kernel(
    dims(1),
    launch_bounds(BLOCK),
    block_multiple(32),
    instances(sum_f32 = sum::<f32>, sum_vec4 = sum::<Vec4>)
)]
pub fn sum<T: Group>(
    input: Slice<T>,
    partial: SliceMut<f32>,
    finished: SliceMut<u32>,
    out: SliceMut<f32>,
) {
    let (rank, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let blocks = thread::grid_dim_x();
    if partial.len() < blocks || finished.len() == 0 || out.len() == 0 {
        return;
    }
    let sum = block_sum(thread_sum(input).total());
    let is_last = rank == 0 && {
        // SAFETY: `partial` has an element for each block, and only this thread writes it.
        unsafe { partial.store(block, sum) };
        // SAFETY: the element exists, and during the launch all accesses to it are atomic, except
        // those of the last block.
        let finished = unsafe { AtomicU32::from_ptr(finished.atomic(0)) };
        // `Release` publishes this block's sum, and `Acquire` makes those of other blocks visible.
        finished.fetch_add(1, Ordering::AcqRel) == blocks - 1
    };
    if thread::sync_threads_or(is_last.into()) == 0 {
        return;
    }
    let mut sum = 0.0;
    let mut i = rank;
    while i < blocks {
        // SAFETY: the element exists, and its block has finished.
        sum += unsafe { partial.load(i) };
        i += thread::block_dim_x();
    }
    let sum = block_sum(sum);
    if rank == 0 {
        // SAFETY: the elements exist, and all other blocks have finished.
        unsafe {
            out.store(0, sum);
            finished.store(0, 0);
        }
    }
}

/// Returns the sum of the elements that the running thread reads.
#[inline(always)]
fn thread_sum<T: Group>(input: Slice<T>) -> T {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let mut sums = [T::zeroed(); IN_FLIGHT as usize];
    let mut i = thread::index_1d();
    // The loop below ends before the last elements, which are added one by one.
    let step = threads.saturating_mul(IN_FLIGHT);
    let end = input.len().saturating_sub(step - threads);
    while i < end {
        // SAFETY: the largest index is `i + step - threads`, which is less than `len`.
        let loaded: [T; IN_FLIGHT as usize] =
            core::array::from_fn(|k| unsafe { input.load(i + k as u32 * threads) });
        sums = core::array::from_fn(|k| sums[k] + loaded[k]);
        i = i.saturating_add(step);
    }
    while let Some(value) = input.get(i) {
        sums[0] = sums[0] + value;
        i = i.saturating_add(threads);
    }
    let [a, b, c, d] = sums;
    (a + b) + (c + d)
}

/// Returns the sum of the values of all threads of the block, in every thread of the first warp. The
/// block must consist of whole warps.
#[inline(always)]
fn block_sum(value: f32) -> f32 {
    let sums = shared_array![f32; BLOCK as usize / 32];
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    // SAFETY: all lanes of the warp take part.
    let sum = unsafe { warp::warp_reduce_add(value) };
    // An earlier call may still read the array.
    thread::sync_threads();
    if lane == 0 {
        // SAFETY: a block has at most `BLOCK / 32` warps, and only this thread writes the element.
        unsafe { sums.store(warp, sum) };
    }
    thread::sync_threads();
    // SAFETY: the element was written before the barrier.
    let sum = if lane < thread::block_dim_x() / 32 { unsafe { sums.load(lane) } } else { 0.0 };
    // SAFETY: all lanes of the warp take part.
    unsafe { warp::warp_reduce_add(sum) }
}
