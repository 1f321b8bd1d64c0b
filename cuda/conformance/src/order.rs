//! Kernels for consecutive launches. The test checks that each launch reads all writes of the
//! previous launch.

use cuda_std::prelude::*;

/// The number of loop iterations of a slow block.
const SLOW: u32 = 3000;

/// Writes `out[i] = input[i + shift] + 1`, with `i + shift` modulo the length. Each block thus
/// reads elements that other blocks wrote in the previous launch. Some of these blocks are slow.
#[kernel(launch_bounds(256))]
pub fn shifted(input: Slice<u32>, shift: u32, out: SliceMut<u32>) {
    shift_by(input, shift, out, slowly_one());
}

/// Does the same as [`shifted`], but may start before the previous kernel has ended. It waits for
/// the end of the previous kernel after its own delay.
#[kernel(launch_bounds(256))]
pub fn shifted_late(input: Slice<u32>, shift: u32, out: SliceMut<u32>) {
    let one = slowly_one();
    thread::wait_for_kernel_before();
    shift_by(input, shift, out, one);
}

/// Returns 1, after a delay in some blocks.
#[inline(always)]
fn slowly_one() -> u32 {
    let mut turns = if thread::block_idx_x() % 7 == 3 { SLOW } else { 0 };
    let mut noise = thread::index_1d();
    while turns > 0 {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        turns -= 1;
    }
    // `noise` is never `u32::MAX` for the tested indices. The compiler does not know this, so it
    // keeps the loop.
    u32::from(noise != u32::MAX)
}

#[inline(always)]
fn shift_by(input: Slice<u32>, shift: u32, out: SliceMut<u32>, one: u32) {
    let at = thread::index_1d();
    if at >= out.len() || input.len() != out.len() {
        return;
    }
    let from = (u64::from(at) + u64::from(shift)) % u64::from(input.len());
    // SAFETY: `from` is less than `input.len()`, `at` was checked above, and each thread writes its
    // own element of `out`.
    unsafe { out.store(at, input.load(from as u32) + one) };
}
