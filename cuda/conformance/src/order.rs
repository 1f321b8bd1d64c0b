//! Launches that follow each other: each sees all that the one before wrote.

use cuda_std::prelude::*;

/// Turns of a slow block's loop.
const SLOW: u32 = 3000;

/// `out[i] = input[i + shift] + 1`, around the end: what another block wrote, of which some are slow.
#[kernel(launch_bounds(256))]
pub fn shifted(input: Slice<u32>, shift: u32, out: SliceMut<u32>) {
    shift_by(input, shift, out, slowly_one());
}

/// The same by a kernel that waits in its own place for the one before, and is slow before that.
#[kernel(launch_bounds(256))]
pub fn shifted_late(input: Slice<u32>, shift: u32, out: SliceMut<u32>) {
    let one = slowly_one();
    thread::wait_for_kernel_before();
    shift_by(input, shift, out, one);
}

/// 1, after a while in some blocks.
#[inline(always)]
fn slowly_one() -> u32 {
    let mut turns = if thread::block_idx_x() % 7 == 3 { SLOW } else { 0 };
    let mut noise = thread::index_1d();
    while turns > 0 {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        turns -= 1;
    }
    // No thread's number ends as this, which the compiler does not know.
    u32::from(noise != u32::MAX)
}

#[inline(always)]
fn shift_by(input: Slice<u32>, shift: u32, out: SliceMut<u32>, one: u32) {
    let at = thread::index_1d();
    if at >= out.len() || input.len() != out.len() {
        return;
    }
    let from = (u64::from(at) + u64::from(shift)) % u64::from(input.len());
    // SAFETY: inside, as just reduced and checked; each thread has an element of its own.
    unsafe { out.store(at, input.load(from as u32) + one) };
}
