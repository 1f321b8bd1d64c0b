//! Kernels that compare, copy, fill and move slices of bytes. The compiler may turn these
//! operations into calls of C library functions, which the GPU lacks unless `cuda_std` defines
//! them.

use core::cmp::Ordering;
use cuda_std::prelude::*;

use crate::global_rank;

/// The number of bytes that one thread compares or moves.
pub const BYTES: usize = 40;

/// Each thread compares the first `n` bytes of its elements of `a` and `b`. It writes 1 if these
/// bytes are equal and 0 otherwise, followed by their ordering as -1, 0 or 1.
#[kernel]
pub fn compare_bytes(
    a: Slice<[u8; BYTES]>,
    b: Slice<[u8; BYTES]>,
    out: SliceMut<[i32; 2]>,
    n: u32,
) {
    let at = global_rank();
    if at < a.len().min(b.len()).min(out.len()) && n as usize <= BYTES {
        // SAFETY: `at` is in bounds of all inputs, as checked above.
        let (a, b) = unsafe { (a.load(at), b.load(at)) };
        let (a, b) = (&a[..n as usize], &b[..n as usize]);
        let order = match a.cmp(b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        };
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, [(a == b).into(), order]) };
    }
}

/// Each thread rotates the bytes of its element of `input` left by `n`, reverses the last `n`
/// bytes, sets the last byte to 7, and writes the result.
#[kernel]
pub fn move_bytes(input: Slice<[u8; BYTES]>, out: SliceMut<[u8; BYTES]>, n: u32) {
    let at = global_rank();
    let n = n as usize;
    if at < input.len().min(out.len()) && n < BYTES {
        // SAFETY: `at` is in bounds of all inputs, as checked above.
        let input = unsafe { input.load(at) };
        let mut moved = input;
        moved.copy_within(n.., 0);
        moved[BYTES - n..].copy_from_slice(&input[..n]);
        moved[BYTES - n..].reverse();
        moved[BYTES - 1..].fill(7);
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, moved) };
    }
}
