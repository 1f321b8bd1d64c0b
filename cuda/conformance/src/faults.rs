//! One fault per kernel. Most are undefined behaviour on a GPU, so those kernels are `unsafe`, and
//! only the CPU runs all of them. They compile to PTX like all other kernels.
//!
//! If a single thread causes the fault, `guilty` identifies this thread: in races and warp
//! operations by its rank in the block, otherwise by its linear index in the grid.

mod global;
mod memory;
mod pipeline;
mod progress;

pub use global::*;
pub use memory::*;
pub use pipeline::*;
pub use progress::*;

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::global_rank;
use crate::memory::TAPS;

/// Threads with index `guilty` or higher return before the barrier.
///
/// # Safety
/// `guilty` must be at least the number of threads in the grid.
#[kernel(barriers(1), dims(3))]
pub unsafe fn barrier_after_return(guilty: u32) {
    if global_rank() >= guilty {
        return;
    }
    thread::sync_threads();
}

/// Threads with rank `first` or higher wait at a different barrier than the others.
///
/// # Safety
/// `first` must be 0 or at least the number of threads per block, so that all threads reach the
/// same barrier.
#[kernel(barriers(2), dims(3))]
pub unsafe fn barrier_twice(first: u32, out: SliceMut<u32>) {
    let at = global_rank();
    if thread::rank() < first {
        thread::sync_threads();
    } else {
        if at < out.len() {
            // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
            unsafe { out.store(at, at) };
        }
        thread::sync_threads();
    }
}

/// In block `block`, only the threads with an even rank reach the barrier. In other blocks, all
/// threads reach it.
///
/// # Safety
/// `block` must be at least the number of blocks along x.
#[kernel(barriers(1), dims(3))]
pub unsafe fn barrier_in_branch(block: u32) {
    if thread::block_idx_x() != block || thread::rank().is_multiple_of(2) {
        thread::sync_threads();
    }
}

/// Thread `guilty` reads the element `(x, y)` of a [`View`], which may be out of bounds.
///
/// # Safety
/// `guilty` must not be the index of a thread in the grid, or `(x, y)` must be in bounds.
#[kernel(dims(3))]
pub unsafe fn view_load(view: View<u32>, out: SliceMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, view.load(x, y)) };
    }
}

/// Thread `guilty` reads element `i` of the part of column 2 that starts in row 1. `i` may be
/// beyond the last row.
///
/// # Safety
/// The view must have column 2 and row 1. `guilty` must not be the index of a thread in the grid,
/// or `i` must be in bounds.
#[kernel(dims(3))]
pub unsafe fn column_load(view: View<u32>, out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, view.column(2, 1).load(i)) };
    }
}

/// Thread `guilty` reads the element `(x, y)` of a [`ViewMut`], which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`view_load`] apply.
#[kernel(dims(3))]
pub unsafe fn view_mut_load(view: ViewMut<u32>, out: SliceMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, view.load(x, y)) };
    }
}

/// Thread `guilty` writes the element `(x, y)` of a [`ViewMut`], which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`view_load`] apply.
#[kernel(dims(3))]
pub unsafe fn view_store(view: ViewMut<u32>, guilty: u32, x: u32, y: u32) {
    if global_rank() == guilty {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { view.store(x, y, 1) };
    }
}

/// Thread `guilty` reads element `i` of a [`Slice`], which may be out of bounds.
///
/// # Safety
/// `guilty` must not be the index of a thread in the grid, or `i` must be in bounds.
#[kernel(dims(3))]
pub unsafe fn slice_load(slice: Slice<u32>, out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, slice.load(i)) };
    }
}

/// Thread `guilty` writes element `i` of a [`SliceMut`], which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`slice_load`] apply.
#[kernel(dims(3))]
pub unsafe fn slice_store(slice: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { slice.store(i, 1) };
    }
}

/// Thread `guilty` adds 1 atomically to element `i` of a [`SliceMut`], which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`slice_load`] apply.
#[kernel(dims(3))]
pub unsafe fn slice_atomic(slice: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { atomic::AtomicAdd::atomic_add(slice.atomic(i), 1) };
    }
}

/// Thread `guilty` accesses element `i` of a static shared array of 32 elements. `access` is 0 for
/// a load, 1 for a store and 2 for an atomic addition. `i` may be out of bounds.
///
/// # Safety
/// The safety requirements of [`slice_load`] apply.
#[kernel(dims(3))]
pub unsafe fn shared_access(access: u32, out: SliceMut<u32>, guilty: u32, i: u32) {
    let tile = shared_array![u32; 32];
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            tile.store(i % 32, 1);
            match access {
                0 => out.store(0, tile.load(i)),
                1 => tile.store(i, 1),
                _ => out.store(0, tile.atomic_add(i, 1)),
            }
        }
    }
}

/// Thread `guilty` reads element `i` of dynamic shared memory, which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`slice_load`] apply.
#[kernel(dims(3))]
pub unsafe fn dynamic_load(out: SliceMut<u32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let memory = shared::dynamic_shared_mem::<u32>();
            memory.store(i.min(memory.len() - 1), 1);
            out.store(0, memory.load(i));
        }
    }
}

/// Thread `guilty` reads element `i` of [`TAPS`], which may be out of bounds.
///
/// # Safety
/// The safety requirements of [`slice_load`] apply.
#[kernel(dims(3))]
pub unsafe fn constant_load(out: SliceMut<f32>, guilty: u32, i: u32) {
    if global_rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, TAPS::load(i)) };
    }
}

/// The synchronisation between the store and the load in [`exchange`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Warp,
    Block,
}

/// Each thread writes its element of `tile`, and reads that of the thread `rank ^ lane_mask`.
#[inline(always)]
fn exchange(tile: Shared<u32>, out: SliceMut<u32>, lane_mask: u32, between: Between) {
    let (at, rank) = (global_rank(), thread::rank());
    // SAFETY: the caller of the kernel guarantees that the accesses do not race. Tests that plant a
    // fault break this guarantee, on the CPU only.
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

/// Each thread stores a value and loads another thread's value, without a barrier in between.
///
/// # Safety
/// `lane_mask` must be 0.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_without_barrier(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Nothing);
}

/// Each thread stores a value, calls `sync_warp` and loads another thread's value. This is a race
/// only if the other thread is in another warp.
///
/// # Safety
/// `lane_mask` must be less than 32, and every warp must have 32 lanes.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_with_sync_warp(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Warp);
}

/// Each thread stores a value, waits at a barrier and loads another thread's value. This is never a
/// race.
///
/// # Safety
/// `lane_mask` must be less than the number of threads, which must be a power of two.
#[kernel(launch_bounds(256), barriers(1), dims(3))]
pub unsafe fn race_with_barrier(out: SliceMut<u32>, lane_mask: u32) {
    exchange(shared_array![u32; 256], out, lane_mask, Between::Block);
}

/// The first thread and thread `guilty` write the same element. If `barrier` is not 0, a barrier
/// separates the two writes.
///
/// # Safety
/// `guilty` must be 0 or at least the number of threads per block, or `barrier` must not be 0.
#[kernel(launch_bounds(256), barriers(1), dims(3))]
pub unsafe fn race_of_writers(guilty: u32, barrier: u32) {
    let tile = shared_array![u32; 256];
    let rank = thread::rank();
    // SAFETY: the caller upholds this function's safety contract.
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

/// Thread `guilty` reads an element with a plain load, and all other threads add to the element
/// atomically.
///
/// # Safety
/// `guilty` must be at least the number of threads per block.
#[kernel(launch_bounds(256), dims(3))]
pub unsafe fn race_with_atomic(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if thread::rank() == 0 {
            tile.store(2, 0);
        }
        thread::sync_threads();
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

/// Threads 0, 1 and 40 read one element. Lane `guilty` of the first warp writes this element after
/// a `sync_warp`. Thread 40 is in the second warp, so it may not have read the element yet.
///
/// # Safety
/// `guilty` must be greater than 31.
#[kernel(launch_bounds(64), dims(3))]
pub unsafe fn race_with_old_reader(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    let rank = thread::rank();
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if rank == 63 {
            tile.store(0, 0);
        }
        thread::sync_threads();
        // On the CPU, thread 40 reads before threads 0 and 1, because the first warp waits at this
        // `sync_warp`.
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

/// Lane 0 loads an element, then lanes 0 and 1 call `sync_warp`, and then lane `guilty` stores to
/// the element. The `sync_warp` orders the load only before stores by lanes 0 and 1, so a store by
/// any other lane, such as lane 5, is a race.
///
/// # Safety
/// `guilty` must be 0 or 1, or at least 32, so that no lane stores.
#[kernel(launch_bounds(32), dims(3))]
pub unsafe fn race_with_partial_sync(guilty: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 4];
    let rank = thread::rank();
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if rank == 31 {
            tile.store(0, 0);
        }
        thread::sync_threads();
        if rank == 0 && out.len() >= 1 {
            out.store(0, tile.load(0));
        }
        if rank < 2 {
            warp::sync_warp(0b11);
        } else if rank == 5 {
            // On the CPU, these two calls delay lane 5 until lanes 0 and 1 are done.
            warp::sync_warp(0b10_0000);
            warp::sync_warp(0b10_0000);
        }
        if rank == guilty {
            tile.store(0, 1);
        }
    }
}

/// Lane `guilty` does not reach a `sync_warp` whose mask contains the lane.
///
/// # Safety
/// `guilty` must be at least the number of threads per block.
#[kernel(dims(3))]
pub unsafe fn lane_missing(guilty: u32) {
    if thread::rank() != guilty {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { warp::sync_warp(FULL_MASK) };
    }
}

/// Lane `guilty` does not reach a shuffle whose mask contains the lane.
///
/// # Safety
/// The safety requirements of [`lane_missing`] apply.
#[kernel(dims(3))]
pub unsafe fn lane_missing_in_shuffle(guilty: u32, out: SliceMut<u32>) {
    let rank = thread::rank();
    if rank != guilty {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let (value, _) = warp::warp_shuffle_down(FULL_MASK, rank, 1, 32);
            if rank < out.len() {
                out.store(rank, value);
            }
        }
    }
}

/// Lane `guilty` votes with a mask that does not contain the lane.
///
/// # Safety
/// `guilty` must be at least the number of threads per block.
#[kernel(dims(3))]
pub unsafe fn lane_outside_mask(guilty: u32, out: SliceMut<u32>) {
    if thread::rank() == guilty && out.len() >= 1 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { out.store(0, warp::warp_vote_ballot(0b11, true)) };
    }
}

/// Lane `guilty` calls `sync_warp` with a mask that does not contain the lane.
///
/// # Safety
/// `guilty` must be 0 or at least the number of threads per block.
#[kernel(dims(3))]
pub unsafe fn sync_outside_mask(guilty: u32) {
    if thread::rank() == guilty || thread::rank() == 0 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { warp::sync_warp(0b1) };
    }
}

/// Thread `guilty` calls `trap`, which stops the kernel.
#[kernel(dims(3))]
pub fn trap_at(guilty: u32) {
    if global_rank() == guilty {
        trap();
    }
}

/// Thread `guilty` panics if `index` is out of bounds of an array of four numbers.
#[kernel(dims(3))]
pub fn panic_at(guilty: u32, index: u32, out: SliceMut<u32>) {
    if global_rank() == guilty && out.len() >= 1 {
        let primes = [2, 3, 5, 7];
        let prime = primes[index as usize];
        // SAFETY: `out` has an element (checked above), and only this thread writes.
        unsafe { out.store(0, prime) };
    }
}

/// Thread `guilty` panics with a custom message.
#[kernel(dims(3))]
pub fn panic_with_message(guilty: u32) {
    assert!(global_rank() != guilty, "planted at thread {guilty}");
}
