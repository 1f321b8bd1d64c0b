//! The number of occurrences of each byte value.
//!
//! Each block counts in shared memory. It has 32 counters for each value, one for each lane of a
//! warp, in the 32 banks of shared memory. The lanes of a warp therefore never wait for each other,
//! even if all bytes are equal. At its end, the block adds its counts to those in global memory.

use bytemuck::{Pod, Zeroable};
use cuda_std::atomic::AtomicAdd;
use cuda_std::prelude::*;

/// The number of threads per block.
pub const BLOCK: u32 = 512;

/// The number of values of a byte.
pub const BINS: u32 = 256;

/// The number of counters for each value.
const LANES: u32 = 32;

/// Bytes that the kernel loads with one instruction.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Bytes16(pub [u32; 4]);

/// One byte, or several that the kernel loads with one instruction.
pub trait Group: Pod {
    /// Calls `count` with each byte.
    fn for_each(self, count: impl Fn(u32));
}

impl Group for u8 {
    #[inline(always)]
    fn for_each(self, count: impl Fn(u32)) {
        count(self.into());
    }
}

impl Group for Bytes16 {
    #[inline(always)]
    fn for_each(self, count: impl Fn(u32)) {
        for byte in 0..16 {
            count(self.0[byte / 4] >> (8 * (byte % 4)) & 0xff);
        }
    }
}

/// Adds the number of occurrences of each byte in `input` to the element of `bins` at its value.
/// Does nothing if `bins` has fewer than [`BINS`] elements, or a block does not have [`BLOCK`]
/// threads.
#[kernel(
    dims(1),
    launch_bounds(BLOCK),
    barriers(2),
    instances(histogram_u8 = histogram::<u8>, histogram_bytes16 = histogram::<Bytes16>)
)]
pub fn histogram<T: Group>(input: Slice<T>, bins: SliceMut<u32>) {
    let counts = shared_array![u32; (BINS * LANES) as usize];
    let rank = thread::thread_idx_x();
    if thread::block_dim_x() != BLOCK || bins.len() < BINS {
        return;
    }
    for i in 0..BINS * LANES / BLOCK {
        // SAFETY: the element exists, and only this thread writes it.
        unsafe { counts.store(i * BLOCK + rank, 0) };
    }
    thread::sync_threads();

    let lane = rank % LANES;
    // SAFETY: `lane` is less than the length.
    let of_lane = unsafe { counts.tail(lane) };
    for i in thread::unique_1d().grid_stride(input.len()) {
        if let Some(group) = input.get(i) {
            // SAFETY: a byte is less than `BINS`, and all accesses between the barriers are atomic.
            group.for_each(|byte| unsafe {
                of_lane.atomic_add(byte * LANES, 1);
            });
        }
    }
    thread::sync_threads();

    if rank < BINS {
        // Threads of a warp start at different lanes, because these are in different banks.
        let sum = (0..LANES).fold(0, |sum, i| {
            // SAFETY: the element exists, and nothing writes it after the barrier.
            sum + unsafe { counts.load(rank * LANES + (i + lane) % LANES) }
        });
        // SAFETY: `bins` has `BINS` elements, and all accesses to it are atomic.
        unsafe { u32::atomic_add(bins.atomic(rank), sum) };
    }
}
