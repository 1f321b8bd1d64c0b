//! Sums over all pixels, in integers: the same to the bit in any order.

use crate::ssim::luma::Batch;
use crate::ssim::luma::Lumas;
use crate::ssim::luma::Pixel;
use crate::unroll::unroll;
use cuda_std::atomic::AtomicAdd;
use cuda_std::prelude::*;
use shared_types::ssim::{BLOCK_THREADS, LINES, ONE, SUMS};

/// What a thread has summed up.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) ssim: i64,
    pub(super) squares: u64,
    pub(super) colour_squares: u64,
}

/// What the sum of `N` SSIMs adds, if it counts.
#[inline(always)]
pub(super) fn summand<const N: u32>(sum: f32, counts: bool) -> i64 {
    let most = N as f32;
    // Each is within −1 and 1, unless levels are far above those that there can be. `clamp` would keep what is no
    // number.
    let sum = sum.max(-most).min(most);
    let scale = if counts { ONE / most } else { 0.0 };
    // SAFETY: a number whose size fits.
    i64::from(N) * i64::from(unsafe { (sum * scale).to_int_unchecked::<i32>() })
}

impl Totals {
    /// Adds the squared differences of the lines of a batch before `end`, which is one for all threads of a block.
    #[inline(always)]
    pub(super) fn add_squares<P: Pixel>(
        &mut self,
        batch: Batch,
        lumas: Lumas,
        line: u32,
        end: u32,
    ) {
        if line + LINES <= end {
            self.add_squares_of::<P>(batch, lumas, LINES);
        } else {
            self.add_squares_of::<P>(batch, lumas, end.saturating_sub(line));
        }
    }

    /// The same, inlined twice: where all lines count, nothing is asked of each.
    #[inline(always)]
    pub(super) fn add_squares_of<P: Pixel>(&mut self, batch: Batch, lumas: Lumas, lines: u32) {
        let (mut squares, mut colour_squares) = (0, 0);
        unroll!(LINES as usize, |i| {
            let difference = lumas[i][0] - lumas[i][1];
            let own = (i as u32) < lines;
            if own && P::SMALL {
                squares += (difference * difference) as u32;
            } else if own {
                self.squares += u64::from(difference.unsigned_abs()).pow(2);
            }
            if own {
                colour_squares += P::colour_squares(batch[i]);
            }
        });
        self.squares += u64::from(squares);
        self.colour_squares += u64::from(colour_squares);
    }

    /// The sums of a warp's threads, in the order of [`Sums`](shared_types::ssim::Sums).
    ///
    /// # Safety
    /// All lanes call it.
    #[inline(always)]
    pub(super) unsafe fn over_warp(self) -> [u64; SUMS as usize] {
        // SAFETY: as the caller vouches.
        unsafe {
            [
                // SSIM may be negative: a sum in two's complement.
                warp::warp_reduce_by(self.ssim as u64, u64::wrapping_add),
                warp::warp_reduce_add(self.squares),
                warp::warp_reduce_add(self.colour_squares),
            ]
        }
    }

    /// Adds those of all threads to `sums`.
    ///
    /// # Safety
    /// All threads of the block, which are whole warps, call it. `sums` has [`SUMS`] elements.
    #[inline(always)]
    pub(super) unsafe fn add_to(self, sums: SliceMut<u64>) {
        // SAFETY: as the caller vouches.
        unsafe {
            let own = self.over_warp();
            if warp::lane_id() == 0 {
                unroll!(SUMS as usize, |i| {
                    u64::atomic_add(sums.atomic(i as u32), own[i]);
                });
            }
        }
    }

    /// Adds up the threads of the block, then the blocks in `running`. The last of `blocks` writes what they come to,
    /// and leaves zeros for the next launch.
    ///
    /// Has a barrier.
    ///
    /// # Safety
    /// All threads of the block, which are [`BLOCK_THREADS`], call it. `running` has [`RUNNING`] elements, `sums`
    /// [`SUMS`].
    #[inline(always)]
    pub(super) unsafe fn finish(self, running: SliceMut<u64>, blocks: u32, sums: SliceMut<u64>) {
        let warps = shared_array![u64; (WARPS * SUMS) as usize];
        let (warp, lane) = (thread::thread_idx_x() / warp::WARP_SIZE, warp::lane_id());
        // SAFETY: as the caller vouches. What lies in shared memory is written by one lane each, and read behind the
        // barrier. The fences make the sums of blocks that have counted themselves visible to the one that counts last,
        // which nobody else then touches.
        unsafe {
            let own = self.over_warp();
            if lane == 0 {
                unroll!(SUMS as usize, |i| warps.store(SUMS * warp + i as u32, own[i]));
            }
            thread::sync_threads();
            if warp > 0 {
                return;
            }
            if lane < SUMS {
                let over_warps = (0..WARPS)
                    .fold(0, |sum, warp| u64::wrapping_add(sum, warps.load(SUMS * warp + lane)));
                u64::atomic_add(running.atomic(lane), over_warps);
            }
            warp::sync_warp(warp::FULL_MASK);
            if lane == 0 {
                // One lane's is enough: a fence is of all that was ordered before it, too.
                thread::device_fence();
                let before = u64::atomic_add(running.atomic(SUMS), 1);
                if before + 1 == blocks.into() {
                    thread::device_fence();
                    unroll!(SUMS as usize, |i| {
                        sums.store(i as u32, running.load(i as u32));
                        running.store(i as u32, 0);
                    });
                    running.store(SUMS, 0);
                }
            }
        }
    }
}

/// Warps of a block of the fused kernels.
pub(super) const WARPS: u32 = BLOCK_THREADS / warp::WARP_SIZE;
