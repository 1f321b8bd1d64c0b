//! Running sums over the layers of a tile, kept in shared memory for each thread.

use crate::stitch::mesh::{RUNS, rank};
use crate::unroll::unroll;
use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use glam::Vec3;
use shared_types::stitch::mesh::BLOCK_THREADS;

/// The running sums of a thread's pixels over a tile's layers, and the shares that remain for later layers. They are in
/// shared memory, because the registers are needed for samples in flight. For each pixel, the elements of the threads
/// of a warp are adjacent.
pub(super) struct Accumulator {
    pub(super) sums: Shared<Bytes16>,
    pub(super) left: Shared<Bytes8>,
}

/// 16 bytes that one instruction loads or stores.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(super) struct Bytes16(pub(super) [u32; 4]);

/// 8 bytes that one instruction loads or stores.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(8))]
pub(super) struct Bytes8(pub(super) [u32; 2]);

impl Accumulator {
    #[device]
    pub(super) fn new() -> Self {
        let thread = rank();
        // SAFETY: `thread` is less than `BLOCK_THREADS`, so both positions are inside the arrays.
        unsafe {
            Self {
                sums: shared_array![Bytes16; 3 * RUNS * BLOCK_THREADS as usize].tail(thread),
                left: shared_array![Bytes8; RUNS * BLOCK_THREADS as usize].tail(thread),
            }
        }
    }

    /// Returns the sums and the remaining shares of the four pixels of a run.
    ///
    /// # Safety
    /// The caller must ensure that [`store`](Self::store) was called for this `run`.
    #[device]
    pub(super) unsafe fn load(&self, run: usize) -> ([Vec3; 4], [u32; 4]) {
        let sum = |i| (3 * run as u32 + i) * BLOCK_THREADS;
        // SAFETY: `run` is less than `RUNS`, so the elements exist, and only this thread accesses them.
        unsafe {
            let sums = [self.sums.load(sum(0)), self.sums.load(sum(1)), self.sums.load(sum(2))];
            let Bytes8([ab, cd]) = self.left.load(run as u32 * BLOCK_THREADS);
            (bytemuck::cast(sums), [ab & 0xffff, ab >> 16, cd & 0xffff, cd >> 16])
        }
    }

    /// Stores the sums and the remaining shares of the four pixels of a run.
    ///
    /// # Safety
    /// The caller must ensure that `run` is less than [`RUNS`].
    #[device]
    pub(super) unsafe fn store(&self, run: usize, sum: [Vec3; 4], [a, b, c, d]: [u32; 4]) {
        let sums: [Bytes16; 3] = bytemuck::cast(sum);
        // SAFETY: `run` is less than `RUNS`, so the elements exist, and only this thread accesses them.
        unsafe {
            unroll!(3, |i| {
                self.sums.store((3 * run + i) as u32 * BLOCK_THREADS, sums[i]);
            });
            self.left.store(run as u32 * BLOCK_THREADS, Bytes8([a | b << 16, c | d << 16]));
        }
    }
}
