//! Slices of bytes: compared, copied, filled and moved.

use core::cmp::Ordering;
use cuda_std::prelude::*;

use crate::global_rank;

/// How many bytes one thread compares and moves.
pub const BYTES: usize = 40;

/// Compares the first `n` bytes of both arrays: whether they are equal, and how they are ordered as
/// -1, 0 or 1.
#[kernel]
pub fn compare_bytes(
    a: Slice<[u8; BYTES]>,
    b: Slice<[u8; BYTES]>,
    out: SliceMut<[i32; 2]>,
    n: u32,
) {
    let at = global_rank();
    if at < a.len().min(b.len()).min(out.len()) && n as usize <= BYTES {
        // SAFETY: inside.
        let (a, b) = unsafe { (a.load(at), b.load(at)) };
        let (a, b) = (&a[..n as usize], &b[..n as usize]);
        let order = match a.cmp(b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        };
        // SAFETY: inside, and each thread has an element of its own.
        unsafe { out.store(at, [(a == b).into(), order]) };
    }
}

/// Moves all bytes from `n` on to the front, copies the first `n` behind them reversed, and fills the
/// last one.
#[kernel]
pub fn move_bytes(input: Slice<[u8; BYTES]>, out: SliceMut<[u8; BYTES]>, n: u32) {
    let at = global_rank();
    let n = n as usize;
    if at < input.len().min(out.len()) && n < BYTES {
        // SAFETY: inside.
        let input = unsafe { input.load(at) };
        let mut moved = input;
        moved.copy_within(n.., 0);
        moved[BYTES - n..].copy_from_slice(&input[..n]);
        moved[BYTES - n..].reverse();
        moved[BYTES - 1..].fill(7);
        // SAFETY: inside, and each thread has an element of its own.
        unsafe { out.store(at, moved) };
    }
}
