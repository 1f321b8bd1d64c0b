//! Kernels that are instances of generic functions: each instance must run with its own types and
//! be registered under its own name.

mod common;

use common::{run, slice, slice_mut};
use cuda_std::launch::{Kernel as _, LaunchConfig};
use cuda_std::prelude::*;

/// An element type for which the generic kernels of this test can have instances.
trait Element: bytemuck::Pod + core::ops::Add<Output = Self> {}
impl Element for f32 {}
impl Element for u64 {}

/// Adds each input to the output `BY` times.
#[kernel(
    dims(1),
    launch_bounds(64),
    instances(add_twice_f32 = add::<f32, 2>, add_thrice_u64 = add::<u64, 3>)
)]
fn add<T, const BY: usize>(input: Slice<T>, out: SliceMut<T>, _unused: [u8; BY])
where
    T: Element,
{
    let i = thread::unique_1d();
    if let (Some(value), Some(old)) = (input.get(i), out.get(i)) {
        out.set(i, (0..BY).fold(old, |sum, _| sum + value));
    }
}

/// Stores `input[0]` in the thread's element of `out`, a raw pointer.
///
/// # Safety
/// `input` must not be empty, and `out` must have an element for each thread of the grid.
#[kernel(instances(first_u64 = first::<u64>))]
unsafe fn first<T: Element>(input: &[T], out: *mut T) {
    // SAFETY: the caller guarantees that `out` has an element for each thread.
    unsafe { *out.add(thread::index_1d() as usize) = input[0] };
}

#[test]
fn each_instance_is_a_kernel() {
    let mut floats = [1.0_f32; 3];
    let kernel = AddTwiceF32 {
        input: slice(&[1.0, 2.0, 3.0]),
        out: slice_mut(&mut floats),
        _unused: [0; 2],
    };
    run(LaunchConfig::for_1d(3, 32), kernel).unwrap();
    assert_eq!(floats, [3.0, 5.0, 7.0]);

    let mut integers = [1_u64; 3];
    let kernel =
        AddThriceU64 { input: slice(&[1, 2, 3]), out: slice_mut(&mut integers), _unused: [0; 3] };
    run(LaunchConfig::for_1d(3, 32), kernel).unwrap();
    assert_eq!(integers, [4, 7, 10]);

    assert_eq!(AddTwiceF32::ENTRY.name, "add_twice_f32");
    assert_eq!(AddTwiceF32::ENTRY.bounds.max_threads, 64);
}

#[test]
fn instances_are_found_by_name() {
    let names: Vec<_> = cuda_std::launch::KERNELS.iter().map(|kernel| kernel.name).collect();
    for name in ["add_twice_f32", "add_thrice_u64", "first_u64"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"add"));
}
