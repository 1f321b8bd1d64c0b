//! Asynchronous copies whose destination is accessed too early, or by threads that do not wait.

use cuda_std::pipeline;
use cuda_std::prelude::*;

/// The number of threads per block.
const BLOCK: u32 = 64;

/// Each thread copies one element to shared memory and reads the element of thread `rank ^ other`.
/// `mistake` selects what is missing: 1 the wait, 2 the barrier after it, 3 the barrier before the
/// next copy to the same elements.
///
/// # Safety
/// `mistake` must be 0, and `input` and `out` have an element for each thread of one block.
#[kernel(launch_bounds(BLOCK), dims(1))]
pub unsafe fn copy_too_early(input: Slice<u32>, out: SliceMut<u32>, other: u32, mistake: u32) {
    let tile = shared_array![u32; BLOCK as usize];
    let t = thread::thread_idx_x();
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        for _ in 0..2 {
            input.memcpy_async::<4>(t, tile, t);
            pipeline::commit();
            if mistake != 1 {
                pipeline::wait_prior::<0>();
            }
            if mistake != 2 {
                thread::sync_threads();
            }
            out.store(t, tile.load(t ^ other));
            if mistake != 3 {
                thread::sync_threads();
            }
        }
    }
}
