//! Loops without an end, and loops that another thread ends.

use cuda_std::prelude::*;

use crate::{block_threads, global_rank};

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
