//! Tests of invalid launches: every device must return the right `LaunchError` before the kernel runs.

use conformance::arguments::Nothing;
use conformance::bounds::{Bounds96, BoundsEmpty, BoundsNone};
use conformance_devices::{gpu, on_each_device};
use cuda_std::launch::{Place, SafeKernel};
use cust::typed::{Buffer, Device, ErrorKind, LaunchConfig, Stream};

/// Launches a kernel with an invalid configuration or argument, and returns the error. Panics if the launch succeeds.
fn refusal<K: SafeKernel>(stream: &Stream, config: &LaunchConfig, kernel: &K) -> String {
    match stream.launch(config, kernel).map_err(|e| e.kind) {
        Err(ErrorKind::Launch(refusal)) => refusal.to_string(),
        Err(other) => panic!("on {}: {other}", stream.device()),
        Ok(()) => panic!("on {}: {config:?} was not refused", stream.device()),
    }
}

fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

#[test]
fn shapes_over_the_bounds_of_a_kernel() {
    on_each_device(|stream| {
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        for block in [[97, 1, 1], [49, 2, 1], [1, 1, 97], [1 << 31, 1 << 31, 4]] {
            let kernel = Bounds96 { out: out.view_mut() };
            assert_eq!(
                refusal(stream, &config([1; 3], block), &kernel),
                format!(
                    "kernel `bounds_96`: a block of {block:?} threads is over the kernel's launch bound of \
                     96 threads, or over CUDA's limit of 64 along z; use a smaller block"
                )
            );
        }
        for (grid, block) in [([1, 1, 2], [1; 3]), ([1; 3], [1, 1, 2])] {
            let kernel = BoundsEmpty { out: out.view_mut() };
            assert_eq!(
                refusal(stream, &config(grid, block), &kernel),
                format!(
                    "kernel `bounds_empty` works in 2 dimensions, but grid {grid:?} of blocks {block:?} has more; \
                     set the grid and block sizes along the other axes to 1"
                )
            );
        }
        assert_eq!(out.download(stream).unwrap(), [0], "the kernel ran");
        let kernel = BoundsEmpty { out: out.view_mut() };
        stream.launch(&config([2, 2, 1], [2, 2, 1]), &kernel).unwrap();
        assert_eq!(out.download(stream).unwrap(), [16]);
    });
}

#[test]
fn shapes_over_the_limits_of_cuda() {
    const GRID: &str = "over CUDA's limit of [2147483647, 65535, 65535], or has 2³² or more threads along an axis; \
                        split the work into several launches";
    on_each_device(|stream| {
        let refused = |grid, block| refusal(stream, &config(grid, block), &Nothing {});
        for grid in [[1 << 31, 1, 1], [1, 65536, 1], [1, 1, 65536], [u32::MAX; 3]] {
            let expected = format!("kernel `nothing`: a grid of {grid:?} blocks is {GRID}");
            assert_eq!(refused(grid, [1; 3]), expected);
        }
        // The indices would wrap.
        assert!(refused([1 << 24, 1, 1], [256, 1, 1]).ends_with(GRID));
        for block in [[1, 1, 65], [1025, 1, 1]] {
            assert!(refused([1; 3], block).ends_with("use a smaller block"));
        }
        for (grid, block) in [
            ([0, 1, 1], [1, 1, 1]),
            ([1, 0, 1], [1, 1, 1]),
            ([1, 1, 0], [1, 1, 1]),
            ([1, 1, 1], [0, 1, 1]),
            ([1, 1, 1], [1, 1, 0]),
        ] {
            let expected = format!(
                "kernel `nothing`: grid {grid:?} of blocks {block:?} has no threads; check the output size"
            );
            assert_eq!(refused(grid, block), expected);
        }
        for cover in [LaunchConfig::cover(0, 100, [16, 16]), LaunchConfig::cover(100, 100, [16, 0])]
        {
            assert!(refusal(stream, &cover, &Nothing {}).ends_with("check the output size"));
        }
        let large = config([1; 3], [1; 3]).with_dynamic_shared(1 << 20);
        assert_eq!(
            refusal(stream, &large, &Nothing {}),
            "kernel `nothing`: 1048576 bytes of dynamic shared memory are over the limit of 232448; request less"
        );
        for shape in [config([1, 65535, 1], [1; 3]), config([1, 1, 65535], [1; 3])] {
            stream.launch(&shape, &Nothing {}).unwrap();
        }
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        for block in [[1, 1, 64], [1024, 1, 1]] {
            let kernel = BoundsNone { out: out.view_mut() };
            stream.launch(&config([1; 3], block), &kernel).unwrap();
        }
        assert_eq!(out.download(stream).unwrap(), [64 + 1024]);
    });
}

#[test]
fn memory_of_another_device() {
    let Some(gpu) = gpu() else { return };
    let cpu = Device::cpu();
    for (here, there) in [(&cpu, &gpu), (&gpu, &cpu)] {
        let stream = here.stream().unwrap();
        let mut out = Buffer::<u32>::new(there, 1).unwrap();
        let refused =
            refusal(&stream, &config([1; 3], [1; 3]), &BoundsNone { out: out.view_mut() });
        assert!(refused.starts_with("kernel `bounds_none`: an argument is on "), "{refused}");
    }
}

/// Tests the same error on a machine without a GPU: the test passes host memory as if it were memory of a GPU.
#[test]
fn memory_that_claims_to_lie_on_a_gpu() {
    let mut word = 0_u32;
    // SAFETY: the launch fails because the slice claims to be on another device, so no kernel accesses `word`.
    let out = unsafe { cuda_std::DeviceSliceMut::new(Place::Cuda(3), &raw mut word, 1) };
    let stream = Device::cpu().stream().unwrap();
    assert_eq!(
        refusal(&stream, &config([1; 3], [1; 3]), &BoundsNone { out }),
        "kernel `bounds_none`: an argument is on cuda:3, but the stream runs on cpu; \
         copy the argument to cpu first"
    );
    assert_eq!(word, 0);
}
