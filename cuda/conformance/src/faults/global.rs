//! Races on global memory, and the synchronisation that prevents them.

use cuda_std::prelude::*;

use crate::{block_threads, global_rank};

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
