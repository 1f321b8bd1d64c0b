//! Kernels without `unsafe`: each thread writes only its own elements. The outputs must equal
//! values that the tests compute on the host.

mod common;

use common::{run, slice, slice_mut};
use cuda_std::cpu::FaultKind;
use cuda_std::launch::{LaunchConfig, Place};
use cuda_std::prelude::*;
use cuda_std::{DeviceView, DeviceViewMut};

#[kernel(dims(1))]
fn add(a: Slice<f32>, b: Slice<f32>, sum: SliceMut<f32>) {
    let at = thread::unique_1d();
    if let (Some(a), Some(b)) = (a.get(at), b.get(at)) {
        sum.set(at, a + b);
    }
}

#[kernel(dims(1))]
fn count_up(out: SliceMut<u32>, outside: SliceMut<u32>) {
    let first = thread::unique_1d();
    for at in first.grid_stride(out.len()) {
        let before = out.get(at).unwrap_or(0);
        out.set(at, before + at.index());
        if out.get(at).is_none() {
            outside.set(first, 1);
        }
    }
    if !outside.set(first, 0) && outside.get(first).is_some() {
        trap();
    }
}

#[kernel]
fn flip(input: View<u8>, out: ViewMut<u8>) {
    let at = thread::unique_2d();
    let right = input.width().wrapping_sub(1).wrapping_sub(at.x());
    if let Some(value) = input.get(right, at.y()) {
        out.set(at, value);
        assert_eq!(out.get(at), Some(value));
    }
}

/// Uses the index along x without `dims(1)`. In a two-dimensional launch, several threads have the
/// same index.
#[kernel]
fn without_dims(out: SliceMut<u32>) {
    out.set(thread::unique_1d(), 1);
}

#[test]
fn vectors_are_added() {
    let (a, b) = ([1.0_f32, 2.0, 3.0], [0.5_f32, 0.25]);
    let mut sum = [0.0_f32; 3];
    let kernel = Add { a: slice(&a), b: slice(&b), sum: slice_mut(&mut sum) };
    run(LaunchConfig::for_1d(64, 32), kernel).unwrap();
    assert_eq!(sum, [1.5, 2.25, 0.0]);
}

#[test]
fn threads_take_several_elements() {
    let mut out = vec![1_u32; 1000];
    let mut outside = vec![7_u32; 10];
    let kernel = CountUp { out: slice_mut(&mut out), outside: slice_mut(&mut outside) };
    run(LaunchConfig { grid: [3, 1, 1], block: [32, 1, 1], dynamic_shared: 0 }, kernel).unwrap();
    assert!(out.iter().enumerate().all(|(at, &value)| value == at as u32 + 1));
    assert_eq!(outside, [0; 10]);
}

#[test]
fn images_are_flipped() {
    let input: Vec<u8> = (0..35).collect();
    let mut out = vec![99_u8; 40];
    // SAFETY: both images have 5 rows of 7 elements, with pitches of 7 and 8, and outlive the
    // launch.
    let kernel = unsafe {
        Flip {
            input: DeviceView::new(Place::Cpu, input.as_ptr(), 7, 5, 7),
            out: DeviceViewMut::new(Place::Cpu, out.as_mut_ptr(), 7, 5, 8),
        }
    };
    run(LaunchConfig::cover(7, 5, [8, 4]), kernel).unwrap();
    for (y, row) in out.chunks(8).enumerate() {
        let flipped: Vec<u8> = (0..7).map(|x| (y * 7 + 6 - x) as u8).collect();
        assert_eq!((&row[..7], row[7]), (flipped.as_slice(), 99));
    }
}

#[test]
fn an_index_that_is_not_unique_is_a_fault() {
    let mut out = [0_u32; 8];
    run(LaunchConfig::for_1d(8, 8), WithoutDims { out: slice_mut(&mut out) }).unwrap();
    assert_eq!(out, [1; 8]);
    for shape in [[8, 2, 1], [8, 1, 1]] {
        let config = LaunchConfig { grid: [1, 3 - shape[1], 1], block: shape, dynamic_shared: 0 };
        let fault = run(config, WithoutDims { out: slice_mut(&mut out) }).unwrap_err();
        assert!(
            matches!(&fault.kind, FaultKind::Panic { text, .. } if text.contains("dims(1)")),
            "{fault}"
        );
    }
}

/// Kernels whose names could collide with names in the code that `#[kernel]` generates.
mod names {
    use super::*;

    macro_rules! kernels {
        ($($name:ident)+) => {$(
            #[kernel(dims(1))]
            fn $name(r#in: &[u32], out: SliceMut<u32>) {
                let at = thread::unique_1d();
                if let Some(value) = r#in.get(at.index() as usize) {
                    out.set(at, value + 1);
                }
            }
        )+};
    }

    kernels!(a0 entry params read thread r#type);

    #[test]
    fn kernels_may_have_any_name() {
        let input = [1, 2, 3];
        macro_rules! check {
            ($($launch:ident)+) => {$(
                let mut out = [0; 3];
                let kernel = $launch { r#in: slice(&input), out: slice_mut(&mut out) };
                run(LaunchConfig::for_1d(3, 3), kernel).unwrap();
                assert_eq!(out, [2, 3, 4]);
            )+};
        }
        check!(A0 Entry Params Read Thread Type);
    }
}
