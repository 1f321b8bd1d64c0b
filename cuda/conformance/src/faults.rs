//! Mistakes, one a kernel. On a GPU they are undefined, so all are `unsafe` and only the CPU runs
//! them; but they compile to PTX as everything else does.
//!
//! Where one thread is to blame, `guilty` is its linear index in the grid.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::global_rank;
use crate::memory::TAPS;

/// Threads from `guilty` on return before the barrier.
///
/// # Safety
/// `guilty` is no thread of the grid.
#[kernel(barriers(1), dims(3))]
pub unsafe fn barrier_after_return(guilty: u32) {
    if global_rank() >= guilty {
        return;
    }
    thread::sync_threads();
}

/// Threads from rank `first` on wait at another barrier than the others.
///
/// # Safety
/// All threads of a block are on the same side of `first`.
#[kernel(barriers(2), dims(3))]
pub unsafe fn barrier_twice(first: u32, out: SliceMut<u32>) {
    let at = global_rank();
    if thread::rank() < first {
        thread::sync_threads();
    } else {
        if at < out.len() {
            // SAFETY: inside, and each thread has an element of its own.
            unsafe { out.store(at, at) };
        }
        thread::sync_threads();
    }
}

/// Only even threads of block `block` come to the barrier, and all of other blocks.
///
/// # Safety
/// There is no such block.
#[kernel(barriers(1), dims(3))]
pub unsafe fn barrier_in_branch(block: u32) {
    if thread::block_idx_x() != block || thread::rank().is_multiple_of(2) {
        thread::sync_threads();
    }
}

/// One thread reads outside of a [`View`].
///
/// # Safety
/// `guilty` is no thread of the grid, or `(x, y)` is inside.
#[kernel(dims(3))]
pub unsafe fn view_load(view: View<u32>, out: SliceMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, view.load(x, y)) };
    }
}

/// One thread reads below a [`View`], of column 2 from row 1 down.
///
/// # Safety
/// The view has them; `guilty` is no thread of the grid, or `i` is inside.
#[kernel(dims(3))]
pub unsafe fn column_load(view: View<u32>, out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, view.column(2, 1).load(i)) };
    }
}

/// One thread reads outside of a [`ViewMut`].
///
/// # Safety
/// As [`view_load`].
#[kernel(dims(3))]
pub unsafe fn view_mut_load(view: ViewMut<u32>, out: SliceMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, view.load(x, y)) };
    }
}

/// One thread writes outside of a [`ViewMut`].
///
/// # Safety
/// As [`view_load`].
#[kernel(dims(3))]
pub unsafe fn view_store(view: ViewMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty {
        // SAFETY: as the caller vouches.
        unsafe { view.store(x, y, 1) };
    }
}

/// One thread reads outside of a [`Slice`].
///
/// # Safety
/// `guilty` is no thread of the grid, or `i` is inside.
#[kernel(dims(3))]
pub unsafe fn slice_load(slice: Slice<u32>, out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, slice.load(i)) };
    }
}

/// One thread writes outside of a [`SliceMut`].
///
/// # Safety
/// As [`slice_load`].
#[kernel(dims(3))]
pub unsafe fn slice_store(slice: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty {
        // SAFETY: as the caller vouches.
        unsafe { slice.store(i, 1) };
    }
}

/// One thread adds atomically outside of a [`SliceMut`].
///
/// # Safety
/// As [`slice_load`].
#[kernel(dims(3))]
pub unsafe fn slice_atomic(slice: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty {
        // SAFETY: as the caller vouches.
        unsafe { atomic::AtomicAdd::atomic_add(slice.atomic(i), 1) };
    }
}

/// One thread accesses a static shared array of 32 outside: 0 loads, 1 stores, 2 adds.
///
/// # Safety
/// As [`slice_load`].
#[kernel(dims(3))]
pub unsafe fn shared_access(access: u32, out: SliceMut<u32>, guilty: u32, i: u32) {
    let tile = shared_array![u32; 32];
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe {
            match access {
                0 => out.store(0, tile.load(i)),
                1 => tile.store(i, 1),
                _ => out.store(0, tile.atomic_add(i, 1)),
            }
        }
    }
}

/// One thread reads beyond the dynamic shared memory that the launch gave.
///
/// # Safety
/// As [`slice_load`].
#[kernel(dims(3))]
pub unsafe fn dynamic_load(out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, shared::dynamic_shared_mem::<u32>().load(i)) };
    }
}

/// One thread reads outside of a constant.
///
/// # Safety
/// As [`slice_load`].
#[kernel(dims(3))]
pub unsafe fn constant_load(out: SliceMut<f32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, TAPS::load(i)) };
    }
}

/// What lies between the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Warp,
    Block,
}

/// Each thread writes its element and reads that of the thread `lane_mask` away.
#[inline(always)]
fn exchange(tile: Shared<u32>, out: SliceMut<u32>, lane_mask: u32, between: Between) {
    let (at, rank) = (global_rank(), thread::rank());
    // SAFETY: none, unless the caller of the kernel has vouched for it.
    unsafe {
        tile.store(rank, rank);
        match between {
            Between::Nothing => {}
            Between::Warp => warp::sync_warp(FULL_MASK),
            Between::Block => thread::sync_threads(),
        }
        let value = tile.load(rank ^ lane_mask);
        if at < out.len() {
            out.store(at, value);
        }
    }
}

/// A value is read without a barrier after its writing.
///
/// # Safety
/// `lane_mask` is 0.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_without_barrier(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Nothing);
}

/// The same with `sync_warp`, which is enough within a warp.
///
/// # Safety
/// `lane_mask` is below 32, and warps are whole.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_with_sync_warp(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Warp);
}

/// The same with a barrier, which is always enough.
///
/// # Safety
/// `lane_mask` is below the number of threads, which is a power of two.
#[kernel(launch_bounds(256), barriers(1), dims(3))]
pub unsafe fn race_with_barrier(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Block);
}

/// Thread `guilty` and the first thread write the same element; with a barrier between if `barrier`
/// is not 0.
///
/// # Safety
/// `guilty` is no thread, or `barrier` is not 0.
#[kernel(launch_bounds(256), barriers(1), dims(3))]
pub unsafe fn race_of_writers(guilty: u32, barrier: u32) {
    let tile = shared_array![u32; 256];
    let rank = thread::rank();
    // SAFETY: as the caller vouches.
    unsafe {
        if rank == 0 {
            tile.store(7, 1);
        }
        if barrier != 0 {
            thread::sync_threads();
        }
        if rank == guilty {
            tile.store(7, 2);
        }
    }
}

/// All threads add to one element atomically, but `guilty` reads it plainly.
///
/// # Safety
/// `guilty` is no thread.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_with_atomic(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    // SAFETY: as the caller vouches.
    unsafe {
        if thread::rank() == guilty {
            let sum = tile.load(2);
            if out.len() >= 1 {
                out.store(0, sum);
            }
        } else {
            tile.atomic_add(2, 1);
        }
    }
}

/// Three threads read one element; after a `sync_warp` of the first warp, its lane `guilty` writes
/// it, while the reader in the second warp may not have read yet.
///
/// # Safety
/// `guilty` is over 31.
#[kernel(launch_bounds(64), dims(3))]
pub unsafe fn race_with_old_reader(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    let rank = thread::rank();
    // SAFETY: as the caller vouches.
    unsafe {
        // The second warp's reader is scheduled first: the first warp waits at a `sync_warp`.
        if rank < 32 {
            warp::sync_warp(FULL_MASK);
        }
        if matches!(rank, 0 | 1 | 40) && rank < out.len() {
            out.store(rank, tile.load(0));
        }
        if rank < 32 {
            warp::sync_warp(FULL_MASK);
        }
        if rank == guilty {
            tile.store(0, 1);
        }
    }
}

/// `sync_warp` over lanes 0 and 1 only, which orders nothing for lane 5: it writes what lane 0 read.
///
/// # Safety
/// `guilty` is 0 or 1 or no lane.
#[kernel(launch_bounds(32), dims(3))]
pub unsafe fn race_with_partial_sync(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    let rank = thread::rank();
    // SAFETY: as the caller vouches.
    unsafe {
        if rank == 0 && out.len() >= 1 {
            out.store(0, tile.load(0));
        }
        if rank < 2 {
            warp::sync_warp(0b11);
        } else if rank == 5 {
            // Puts lane 5 behind the other two.
            warp::sync_warp(0b10_0000);
            warp::sync_warp(0b10_0000);
        }
        if rank == guilty {
            tile.store(0, 1);
        }
    }
}

/// Lane `guilty` of the block does not come to a `sync_warp` that names it.
///
/// # Safety
/// `guilty` is no lane.
#[kernel(dims(3))]
pub unsafe fn lane_missing(guilty: u32) {
    if thread::rank() != guilty {
        // SAFETY: as the caller vouches.
        unsafe { warp::sync_warp(FULL_MASK) };
    }
}

/// The same for a shuffle.
///
/// # Safety
/// As [`lane_missing`].
#[kernel(dims(3))]
pub unsafe fn lane_missing_in_shuffle(guilty: u32, out: SliceMut<u32>) {
    let rank = thread::rank();
    if rank != guilty {
        // SAFETY: as the caller vouches.
        unsafe {
            let (value, _) = warp::warp_shuffle_down(FULL_MASK, rank, 1, 32);
            if rank < out.len() {
                out.store(rank, value);
            }
        }
    }
}

/// Lane `guilty` of the block votes in a mask that does not hold it.
///
/// # Safety
/// `guilty` is no lane.
#[kernel(dims(3))]
pub unsafe fn lane_outside_mask(guilty: u32, out: SliceMut<u32>) {
    if thread::rank() == guilty && out.len() >= 1 {
        // SAFETY: as the caller vouches.
        unsafe { out.store(0, warp::warp_vote_ballot(0b11, true)) };
    }
}

/// Lane `guilty` of the block syncs with a mask that does not hold it.
///
/// # Safety
/// `guilty` is 0 or no lane.
#[kernel(dims(3))]
pub unsafe fn sync_outside_mask(guilty: u32) {
    if thread::rank() == guilty || thread::rank() == 0 {
        // SAFETY: as the caller vouches.
        unsafe { warp::sync_warp(0b1) };
    }
}

/// One thread stops the kernel.
#[kernel(dims(3))]
pub fn trap_at(guilty: u32) {
    if global_rank() == guilty {
        trap();
    }
}

/// One thread panics: index out of the bounds of an array.
#[kernel(dims(3))]
pub fn panic_at(guilty: u32, index: u32, out: SliceMut<u32>) {
    if global_rank() == guilty && out.len() >= 1 {
        let primes = [2, 3, 5, 7];
        let prime = primes[index as usize];
        // SAFETY: inside, by one thread.
        unsafe { out.store(0, prime) };
    }
}

/// One thread panics with a message of its own.
#[kernel(dims(3))]
pub fn panic_with_message(guilty: u32) {
    assert!(global_rank() != guilty, "planted at thread {guilty}");
}
