//! Kernels with atomics on global memory, and a histogram in shared memory.

use cuda_std::atomic::{AtomicAdd, AtomicMinMax};
use cuda_std::prelude::*;

use crate::{block_threads, global_rank};

/// Defines a kernel in which the first element of `out` becomes the sum of all values, the second
/// their minimum and the third their maximum.
macro_rules! accumulate {
    ($name:ident, $type:ty) => {
        #[doc = concat!("Sums all `", stringify!($type), "` values and finds minimum and maximum.")]
        #[kernel]
        pub fn $name(input: Slice<$type>, out: SliceMut<$type>) {
            let at = global_rank();
            if at < input.len() && out.len() >= 3 {
                // SAFETY: both lengths were checked, and all accesses to `out` are atomic.
                unsafe {
                    let value = input.load(at);
                    <$type>::atomic_add(out.atomic(0), value);
                    <$type>::atomic_min(out.atomic(1), value);
                    <$type>::atomic_max(out.atomic(2), value);
                }
            }
        }
    };
}

accumulate!(accumulate_u32, u32);
accumulate!(accumulate_i32, i32);
accumulate!(accumulate_u64, u64);

/// Adds all values of `input` to the first element of `out`, in an unspecified order.
#[kernel]
pub fn accumulate_f32(input: Slice<f32>, out: SliceMut<f32>) {
    let at = global_rank();
    if at < input.len() && out.len() >= 1 {
        // SAFETY: both lengths were checked above, and all accesses to `out` are atomic.
        unsafe { f32::atomic_add(out.atomic(0), input.load(at)) };
    }
}

/// Each thread adds 1 to the counter and writes the previous value to its element of `out`.
#[kernel]
pub fn tickets(counter: SliceMut<u32>, out: SliceMut<u32>) {
    let at = global_rank();
    if at < out.len() && counter.len() >= 1 {
        // SAFETY: both lengths were checked above. All accesses to `counter` are atomic, and each
        // thread writes its own element of `out`.
        unsafe { out.store(at, u32::atomic_add(counter.atomic(0), 1)) };
    }
}

/// Counts how often each remainder modulo 64 occurs in `input`. Each block counts in shared memory,
/// and then adds its counts to `out`.
#[kernel(launch_bounds(256), barriers(2))]
pub fn histogram(input: Slice<u8>, out: SliceMut<u32>) {
    const BINS: u32 = 64;
    let bins = shared_array![u32; 64];
    let (at, rank, threads) = (global_rank(), thread::rank(), block_threads());
    let mut bin = rank;
    while bin < BINS {
        // SAFETY: `bin` is less than `BINS`, and only one thread writes this element of `bins`.
        unsafe { bins.store(bin, 0) };
        bin += threads;
    }
    thread::sync_threads();
    if at < input.len() {
        // SAFETY: both indices are in bounds. Between the barriers, all accesses are atomic.
        unsafe { bins.atomic_add(u32::from(input.load(at)) % BINS, 1) };
    }
    thread::sync_threads();
    let mut bin = rank;
    while bin < BINS && bin < out.len() {
        // SAFETY: `bin` is in bounds of both, and nothing writes `bins` after the barrier.
        unsafe { u32::atomic_add(out.atomic(bin), bins.load(bin)) };
        bin += threads;
    }
}
