//! Kernels that compare, copy, fill and move slices of bytes. The compiler may turn these
//! operations into calls of C library functions, which the GPU lacks unless `cuda_std` defines
//! them.

use core::cmp::Ordering;
use cuda_std::prelude::*;

use crate::global_rank;

/// The number of bytes that one thread compares or moves.
pub const BYTES: usize = 40;

/// Compares the first `n` bytes of both arrays. Writes 1 if they are equal and 0 otherwise,
/// followed by their ordering as -1, 0 or 1.
#[kernel]
pub fn compare_bytes(
    a: Slice<[u8; BYTES]>,
    b: Slice<[u8; BYTES]>,
    out: SliceMut<[i32; 2]>,
    n: u32,
) {
    let at = global_rank();
    if at < a.len().min(b.len()).min(out.len()) && n as usize <= BYTES {
        // SAFETY: the accesses are in bounds.
        let (a, b) = unsafe { (a.load(at), b.load(at)) };
        let (a, b) = (&a[..n as usize], &b[..n as usize]);
        let order = match a.cmp(b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        };
        // SAFETY: the accesses are in bounds, and each thread writes its own element.
        unsafe { out.store(at, [(a == b).into(), order]) };
    }
}

/// Rotates the bytes left by `n`, reverses the last `n` bytes and sets the last byte to 7.
#[kernel]
pub fn move_bytes(input: Slice<[u8; BYTES]>, out: SliceMut<[u8; BYTES]>, n: u32) {
    let at = global_rank();
    let n = n as usize;
    if at < input.len().min(out.len()) && n < BYTES {
        // SAFETY: the accesses are in bounds.
        let input = unsafe { input.load(at) };
        let mut moved = input;
        moved.copy_within(n.., 0);
        moved[BYTES - n..].copy_from_slice(&input[..n]);
        moved[BYTES - n..].reverse();
        moved[BYTES - 1..].fill(7);
        // SAFETY: the accesses are in bounds, and each thread writes its own element.
        unsafe { out.store(at, moved) };
    }
}
