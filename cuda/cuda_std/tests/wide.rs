//! Slices whose elements a kernel accesses in groups: casts on the host, and accesses of several
//! elements in the kernel.

mod common;

use common::{run, slice, slice_mut};
use cuda_std::cpu::{Fault, FaultKind};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;

/// Copies elements of any type.
#[kernel(dims(1), instances(copy_u32 = copy::<u32>, copy_u64 = copy::<u64>))]
fn copy<T: bytemuck::Pod>(input: Slice<T>, out: SliceMut<T>) {
    let i = thread::unique_1d();
    if let Some(value) = input.get(i) {
        out.set(i, value);
    }
}

/// Copies the two elements from `at` on with one access.
///
/// # Safety
/// The elements must exist in both slices, and be aligned for a `u64`.
#[kernel]
unsafe fn copy_pair(input: Slice<u32>, out: SliceMut<u32>, at: u32) {
    // SAFETY: the caller guarantees that the elements exist and are aligned.
    unsafe { out.store_wide(at, input.load_wide::<u64>(at)) };
}

/// Eight bytes that are aligned for a `u64`, with room for an unaligned slice.
#[repr(align(8))]
struct Aligned([u32; 7]);

#[test]
fn a_slice_is_cast_to_larger_elements() {
    let input = Aligned([1, 2, 3, 4, 5, 6, 7]);
    let mut out = Aligned([0; 7]);
    let kernel = CopyU64 {
        input: slice(&input.0[..6]).cast().expect("three pairs"),
        out: slice_mut(&mut out.0[..4]).cast().expect("two pairs"),
    };
    run(LaunchConfig::for_1d(3, 32), kernel).unwrap();
    assert_eq!(out.0, [1, 2, 3, 4, 0, 0, 0]);
}

#[test]
fn a_slice_is_cast_to_smaller_elements() {
    let input = [0x2_0000_0001_u64];
    let mut out = [0_u32; 2];
    let kernel = CopyU32 { input: slice(&input).cast().unwrap(), out: slice_mut(&mut out) };
    run(LaunchConfig::for_1d(2, 32), kernel).unwrap();
    assert_eq!(out, [1, 2]);
}

#[test]
fn a_slice_that_does_not_fit_is_not_cast() {
    let mut values = Aligned([0; 7]);
    let fits = |values: &[u32]| slice(values).cast::<u64>().is_some();
    assert!(fits(&values.0[..2]) && fits(&values.0[..0]));
    assert!(!fits(&values.0[..3]), "an element is left over");
    assert!(!fits(&values.0[1..3]), "the address is not aligned");
    assert!(slice(&values.0).cast::<()>().is_none(), "elements without a size");
    assert!(slice_mut(&mut values.0[1..3]).cast::<u64>().is_none());
}

/// Runs [`copy_pair`] with slices of six elements.
fn pair(at: u32) -> Result<[u32; 7], Fault> {
    let input = Aligned([1, 2, 3, 4, 5, 6, 7]);
    let mut out = Aligned([0; 7]);
    let kernel = CopyPair { input: slice(&input.0[..6]), out: slice_mut(&mut out.0[..6]), at };
    run(LaunchConfig::for_1d(1, 1), kernel)?;
    Ok(out.0)
}

#[test]
fn elements_are_accessed_in_pairs() {
    assert_eq!(pair(4).unwrap(), [0, 0, 0, 0, 5, 6, 0]);
}

#[test]
fn a_pair_outside_of_the_slice_is_a_fault() {
    for at in [5, 6, u32::MAX] {
        let fault = pair(at).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{at}: {fault}");
    }
}

#[test]
fn a_pair_that_is_not_aligned_is_a_fault() {
    let fault = pair(3).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 8, .. }), "{fault}");
}
