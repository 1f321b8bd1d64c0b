//! Integer sums over all pixels. They do not depend on the order of the additions.

use super::luma::{Batch, Lumas, Pixel};
use crate::unroll::unroll;
use cuda_std::atomic::AtomicAdd;
use cuda_std::prelude::*;
use shared_types::ssim::{BLOCK_THREADS, LINES, ONE, SUMS};

/// The sums of one thread, in integers; see [`SUMS`].
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) ssim: i64,
    pub(super) squares: u64,
    pub(super) colour_squares: u64,
}

/// Converts the sum of `N` SSIM values to a fixed-point number. Returns 0 if `counts` is false.
#[device]
pub(super) fn summand<const N: u32>(sum: f32, counts: bool) -> i64 {
    let most = N as f32;
    // Each SSIM is from −1 to 1 for valid levels. If `sum` is NaN, `max` returns −`N`, but `clamp` would return NaN.
    let sum = sum.max(-most).min(most);
    let scale = if counts { ONE / most } else { 0.0 };
    // SAFETY: the product is finite and from −`ONE` to `ONE`, so it fits into an `i32`.
    i64::from(N) * i64::from(unsafe { (sum * scale).to_int_unchecked::<i32>() })
}

impl Totals {
    /// Adds the squared differences in the rows of a batch that are before row `end`. The batch starts at row `line`.
    /// `end` must be uniform for the block.
    #[device]
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

    /// Adds the squared differences in the first `lines` rows of a batch. The caller inlines two copies. In the copy
    /// for complete batches, `lines` is a constant, so there is no test per row.
    #[device]
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

    /// Returns the sums over a warp's threads, in the order of [`SUMS`].
    ///
    /// # Safety
    /// All lanes must call it.
    #[device]
    pub(super) unsafe fn over_warp(self) -> [u64; SUMS as usize] {
        // SAFETY: the caller guarantees that all lanes of the warp call this function.
        unsafe {
            [
                // SSIM sums may be negative. Wrapping addition of two's complement numbers is correct for them, too.
                warp::warp_reduce_by(self.ssim as u64, u64::wrapping_add),
                warp::warp_reduce_add(self.squares),
                warp::warp_reduce_add(self.colour_squares),
            ]
        }
    }

    /// Adds the sums of the block's threads to `running`. Of all `blocks` blocks, the one that finishes last writes the
    /// totals to `sums` and resets `running` to zeros for the next launch.
    ///
    /// Contains a barrier.
    ///
    /// # Safety
    /// All [`BLOCK_THREADS`] threads of the block must call it. `running` must have at least `RUNNING` elements, and
    /// `sums` at least [`SUMS`].
    #[device]
    pub(super) unsafe fn finish(self, running: SliceMut<u64>, blocks: u32, sums: SliceMut<u64>) {
        let warps = shared_array![u64; (WARPS * SUMS) as usize];
        let (warp, lane) = (thread::thread_idx_x() / warp::WARP_SIZE, warp::lane_id());
        // SAFETY: the caller guarantees complete blocks and the lengths. One thread writes each element of shared
        // memory, and others read it after the barrier. The fences make the sums of all counted blocks visible to the
        // block that counts last. At that time, no other block accesses `running` or `sums`.
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
                // A fence in one lane is enough, because it orders everything that `sync_warp` has ordered before it.
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

/// The number of warps per block of the fused kernels.
pub(super) const WARPS: u32 = BLOCK_THREADS / warp::WARP_SIZE;
