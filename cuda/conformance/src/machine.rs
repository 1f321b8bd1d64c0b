//! Kernels that query machine properties, call fences and waits, and print.

use cuda_std::{misc, prelude::*};

use crate::global_rank;

/// The first thread calls fences and waits, which have no visible effect, and writes to `out` whether
/// the clock advances and whether the thread's lane is active.
#[kernel]
pub fn machine(out: SliceMut<u32>) {
    if global_rank() != 0 || out.len() < 2 {
        return;
    }
    let start = misc::clock();
    thread::block_fence();
    thread::grid_fence();
    thread::device_fence();
    thread::system_fence();
    thread::nanosleep(1000);
    let is_later = misc::clock() > start;
    // SAFETY: `out` has at least 2 elements, and only this thread writes.
    unsafe {
        out.store(0, is_later.into());
        out.store(1, warp::activemask() >> warp::lane_id() & 1);
    }
}

/// Each thread prints a line with its index and `to`.
#[kernel]
pub fn speak(to: u32) {
    println!("thread {} says hello to {to}", global_rank());
}
