//! A kernel that allocates on the heap.

use alloc::collections::BTreeMap;
use cuda_std::prelude::*;

use crate::global_rank;

/// A type whose alignment of 256 bytes is larger than the 16 bytes that the allocator guarantees.
#[repr(align(256))]
struct Wide([u32; 8]);

/// Each thread collects values in a vector that grows, and sorts, counts and formats the values.
///
/// The thread at index `i` uses the first `i` values of the input, modulo 10. It writes the number
/// of values, the number of different values, the length of the text in bytes, the sum of the
/// values, and 1 if a box of `Wide` is aligned to 256 bytes.
#[kernel(launch_bounds(128))]
pub fn collections(input: Slice<u32>, out: SliceMut<[u32; 5]>) {
    let at = global_rank();
    if at >= out.len() {
        return;
    }
    let mut numbers = Vec::new();
    for i in 0..input.len().min(at) {
        // SAFETY: `i` is less than `input.len()`.
        numbers.push(unsafe { input.load(i) } % 10);
    }
    numbers.sort_unstable();
    let mut counts = BTreeMap::new();
    for &number in &numbers {
        *counts.entry(number).or_insert(0) += 1;
    }
    let wide = Box::new(Wide([numbers.iter().sum(); 8]));
    let is_aligned = (&raw const *wide).addr().is_multiple_of(256);
    let text = format!("{numbers:?}");
    let found = [
        numbers.len() as u32,
        counts.len() as u32,
        text.len() as u32,
        wide.0[7],
        is_aligned.into(),
    ];
    // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
    unsafe { out.store(at, found) };
}
