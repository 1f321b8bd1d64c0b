//! One fault per kernel. Most are undefined behaviour on a GPU, so those kernels are `unsafe`, and
//! only the CPU runs all of them. They compile to PTX like all other kernels.
//!
//! If a single thread causes the fault, `guilty` identifies this thread: in races and warp
//! operations by its rank in the block, otherwise by its linear index in the grid.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::memory::TAPS;
use crate::{block_threads, global_rank};

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

/// Lane 0 loads an element, and then only lanes 0 and 1 call `sync_warp`. So the call does not
/// order this load before a store by lane 5.
///
/// # Safety
/// `guilty` must be 0, 1 or at least 32.
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

/// Adds 1 to one element by a load and a store in every thread. `mode` 0 does so in all threads
/// without synchronisation, 1 in thread 0 alone, and 2 in threads of one block between barriers.
///
/// # Safety
/// `mode` must not be 0, and the grid must have one block.
#[kernel(launch_bounds(64), dims(3))]
pub unsafe fn global_sum(mode: u32, sum: SliceMut<u32>) {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        for turn in 0..if mode == 2 { block_threads() } else { 1 } {
            let is_active = match mode {
                0 => true,
                1 => global_rank() == 0,
                _ => thread::rank() == turn,
            };
            if is_active && sum.len() >= 1 {
                let old = sum.load(0);
                sum.store(0, old + 1);
            }
            thread::sync_threads();
        }
    }
}

/// Smooths a row in place: each thread reads the element to its right and writes its own.
///
/// # Safety
/// The grid must have one thread.
#[kernel(dims(1))]
pub unsafe fn global_stencil(row: SliceMut<u32>) {
    let at = thread::index_1d();
    if at + 1 < row.len() {
        // SAFETY: the accesses are in bounds, and no other thread exists.
        unsafe { row.store(at, row.load(at) + row.load(at + 1)) };
    }
}

/// Every block writes an element. The last block to finish, which a counter finds, adds all
/// elements. `fences` is 0 to omit the fence between the element and the counter.
///
/// # Safety
/// `fences` must not be 0. The counter must be 0, and `parts` must have an element per block.
#[kernel(dims(1))]
pub unsafe fn last_block(parts: SliceMut<u32>, counter: SliceMut<u32>, fences: u32) {
    let block = thread::block_idx_x();
    // SAFETY: the caller upholds this function's safety contract. Only the last block reads.
    unsafe {
        if thread::rank() == 0 && block < parts.len() && counter.len() >= 1 {
            parts.store(block, block + 1);
            if fences != 0 {
                thread::device_fence();
            }
            let finished = atomic::AtomicAdd::atomic_add(counter.atomic(0), 1);
            if finished + 1 == thread::grid_dim_x() {
                if fences != 0 {
                    thread::device_fence();
                }
                let mut sum = 0;
                for part in 0..thread::grid_dim_x().min(parts.len()) {
                    sum += parts.load(part);
                }
                parts.store(0, sum);
            }
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

/// Thread `guilty` computes forever.
///
/// # Safety
/// `guilty` must be at least the number of threads of the grid.
#[kernel(dims(3))]
pub unsafe fn endless(guilty: u32, out: SliceMut<u32>) {
    let mut state = global_rank();
    while global_rank() == guilty {
        state = core::hint::black_box(state.wrapping_mul(0x9e37_79b9) | 1);
    }
    if out.len() >= 1 && global_rank() == 0 {
        // SAFETY: the access is in bounds, and one thread writes.
        unsafe { out.store(0, state) };
    }
}

/// Threads wait in a loop until a flag that another thread sets. `mode` 0: thread 0 of each block
/// waits for the block's last thread. `mode` 1: each block waits for the block after it. `mode` 2:
/// thread 0 waits for a flag that no thread sets.
///
/// # Safety
/// `mode` must not be 2, `flags` must be zeros with an element per block, and all blocks must be
/// resident at once.
#[kernel(dims(1))]
pub unsafe fn spin(mode: u32, flags: SliceMut<u32>) {
    use atomic::{AtomicValue, Device, Ordering};
    let (block, rank) = (thread::block_idx_x(), thread::rank());
    let last = block_threads() - 1;
    if flags.len() < thread::grid_dim_x() {
        return;
    }
    // SAFETY: the accesses are in bounds and atomic.
    unsafe {
        let wait = |flag| while u32::load::<Device>(flags.atomic(flag), Ordering::Acquire) == 0 {};
        let set = |flag| u32::store::<Device>(flags.atomic(flag), 1, Ordering::Release);
        match mode {
            0 if rank == last => set(block),
            0 if rank == 0 => wait(block),
            1 if rank == 0 => {
                if block + 1 < thread::grid_dim_x() {
                    wait(block + 1);
                }
                set(block);
            }
            2 if rank == 0 => wait(block),
            _ => {}
        }
    }
}
