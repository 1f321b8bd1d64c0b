//! Memory that kernels allocate.

use alloc::collections::BTreeMap;
use cuda_std::prelude::*;

use crate::global_rank;

/// Aligned to more than an allocation is by itself.
#[repr(align(256))]
struct Wide([u32; 8]);

/// Each thread gathers numbers in a vector that grows, sorts and counts them, and formats the result:
/// writes how many there are, how many different ones, the length of their text and their sum, and
/// whether a box of wide alignment has it.
#[kernel(launch_bounds(128))]
pub fn collections(input: Slice<u32>, out: SliceMut<[u32; 5]>) {
    let at = global_rank();
    if at >= out.len() {
        return;
    }
    let mut numbers = Vec::new();
    for i in 0..input.len().min(at) {
        // SAFETY: inside.
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
    // SAFETY: inside, and each thread has an element of its own.
    unsafe { out.store(at, found) };
}
