//! Reads of unwritten shared memory, misaligned accesses, and pointers that leave their buffer.

use cuda_std::prelude::*;

use crate::global_rank;

/// Each thread writes its own element of a shared array, except thread `guilty`, and reads it after
/// a barrier.
///
/// # Safety
/// `guilty` must be at least the number of threads per block.
#[kernel(launch_bounds(64), dims(3))]
pub unsafe fn unwritten(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 64];
    let rank = thread::rank();
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if rank != guilty {
            tile.store(rank, rank);
        }
        thread::sync_threads();
        if rank < out.len() {
            out.store(rank, tile.load(rank));
        }
    }
}

/// Thread `guilty` accesses memory `offset` bytes after the start of `data` by a raw pointer.
/// `access` is 0 for a load, 1 for a store and 2 for an atomic addition of the kit.
///
/// # Safety
/// The four bytes must belong to `data` and be aligned.
#[kernel(dims(3))]
pub unsafe fn raw_access(data: SliceMut<u32>, access: u32, guilty: u32, offset: i64) {
    if global_rank() == guilty && data.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let at = data.atomic(0).wrapping_byte_offset(offset as isize);
            match access {
                0 => data.store(0, at.read_volatile()),
                1 => at.write_volatile(1),
                _ => _ = atomic::AtomicAdd::atomic_add(at, 1),
            }
        }
    }
}

/// Thread `guilty` reads two elements as one, from element `x` on.
///
/// # Safety
/// `x` must be even.
#[kernel(dims(3))]
pub unsafe fn wide_access(view: View<u32>, out: SliceMut<u64>, guilty: u32, x: u32) {
    if global_rank() == guilty && out.len() >= 1 && view.contains(x + 1, 0) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, view.load_wide::<u64>(x, 0)) };
    }
}
