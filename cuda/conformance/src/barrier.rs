//! Kernels with barriers between their accesses to static and dynamic shared memory.

use cuda_std::prelude::*;

use crate::{block_threads, global_rank, load_or_zero};

/// The maximum number of threads per block of the kernels that reverse values, and of
/// [`two_arrays`].
pub const BLOCK: u32 = 256;

/// Reverses the order of the values within each block, through a static shared array.
#[kernel(launch_bounds(256), barriers(1))]
pub fn reverse_static(input: Slice<u32>, out: SliceMut<u32>) {
    let tile = shared_array![u32; 256];
    reverse(tile, input, out);
}

/// Reverses the order of the values within each block, through dynamic shared memory.
#[kernel(launch_bounds(256), barriers(1))]
pub fn reverse_dynamic(input: Slice<u32>, out: SliceMut<u32>) {
    reverse(shared::dynamic_shared_mem(), input, out);
}

#[inline(always)]
fn reverse(tile: Shared<u32>, input: Slice<u32>, out: SliceMut<u32>) {
    let (at, rank, threads) = (global_rank(), thread::rank(), block_threads());
    if at < input.len() && rank < tile.len() {
        // SAFETY: `at` and `rank` were just checked. Until the barrier, each thread accesses only
        // its own element of `tile`.
        unsafe { tile.store(rank, input.load(at)) };
    }
    thread::sync_threads();
    if at < out.len() && threads <= tile.len() {
        // SAFETY: both lengths were just checked, and nothing writes `tile` after the barrier.
        unsafe { out.store(at, tile.load(threads - 1 - rank)) };
    }
}

/// Reverses the order of the values within each block. A tail is the rest of an array from some
/// element on: the kernel stores through a tail of a tail of dynamic shared memory, and loads
/// through the whole array. The first thread also writes the tail's length to `out`, at the end.
#[kernel(launch_bounds(256), barriers(1))]
pub fn reverse_tail(input: Slice<u32>, out: SliceMut<u32>) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let (at, rank, threads) = (global_rank(), thread::rank(), block_threads());
    if tile.len() < threads + 3 {
        return;
    }
    // SAFETY: `tile` has at least three elements more than the block has threads.
    let tail = unsafe { tile.tail(1).tail(2) };
    if at < input.len() {
        // SAFETY: `at` was just checked, and `tail` has an element for each thread of the block.
        // Until the barrier, each thread accesses only its own element.
        unsafe { tail.store(rank, input.load(at)) };
    }
    thread::sync_threads();
    if at < out.len() {
        // SAFETY: both lengths were checked above, and nothing writes `tile` after the barrier.
        unsafe { out.store(at, tile.load(3 + threads - 1 - rank)) };
    }
    if at == 0 && out.len() > input.len() {
        // SAFETY: `input.len()` is in bounds of `out`, and only this thread writes the element. All
        // other writes are to earlier elements of `out`.
        unsafe { out.store(input.len(), tail.len()) };
    }
}

/// The first thread writes the length of dynamic shared memory, in elements of 4 bytes and in
/// elements of 16 bytes.
#[kernel]
pub fn dynamic_lengths(out: SliceMut<u32>) {
    if global_rank() == 0 && out.len() >= 2 {
        // SAFETY: `out` has two elements, as checked above, and only the first thread writes.
        unsafe {
            out.store(0, shared::dynamic_shared_mem::<u32>().len());
            out.store(1, shared::dynamic_shared_mem::<u128>().len());
        }
    }
}

/// Passes each value to the next thread of the block, `rounds` times, with two barriers per round.
#[kernel(barriers(2))]
pub fn rotate(input: Slice<u32>, out: SliceMut<u32>, rounds: u32) {
    let tile = shared_array![u32; 1024];
    let (at, rank, threads) = (global_rank(), thread::rank(), block_threads());
    let mut value = load_or_zero(input, at);
    let mut round = 0;
    while round < rounds {
        // SAFETY: a block has at most 1024 threads, and each writes its own element of `tile`.
        // Barriers separate stores from loads, and loads from the stores of the next round.
        unsafe {
            tile.store(rank, value);
            thread::sync_threads();
            value = tile.load(if rank == 0 { threads - 1 } else { rank - 1 });
            thread::sync_threads();
        }
        round += 1;
    }
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, value) };
    }
}

/// Uses two static arrays of different element types. Each thread writes 1000 times the rank of the
/// thread at the mirrored position in its block, plus its own rank.
#[kernel(launch_bounds(256), barriers(1))]
pub fn two_arrays(out: SliceMut<u32>) {
    let words = shared_array![u32; 256];
    let bytes = shared_array![u8; 256];
    let (at, rank, threads) = (global_rank(), thread::rank(), block_threads());
    // SAFETY: a block has at most 256 threads, and each writes its own element of both arrays.
    unsafe {
        words.store(rank, 1000 * rank);
        bytes.store(rank, rank as u8);
    }
    thread::sync_threads();
    if at < out.len() {
        let other = threads - 1 - rank;
        // SAFETY: `at` was just checked, the other indices are less than the number of threads, and
        // nothing writes shared memory after the barrier.
        unsafe { out.store(at, words.load(other) + u32::from(bytes.load(rank))) };
    }
}
