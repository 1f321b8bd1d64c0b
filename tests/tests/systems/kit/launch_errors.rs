//! Tests of invalid launches: every device must return the right `LaunchError` before the kernel runs.

use conformance::arguments::Nothing;
use conformance::bounds::{Bounds96, BoundsEmpty, BoundsNone};
use conformance_devices::{gpu, on_each_device};
use cuda_std::launch::{Kernel, LaunchError, Place, SafeKernel};
use panoweave::device::{Buffer, Device, ErrorKind, LaunchConfig, Stream};

/// Launches a kernel with an invalid configuration or argument, and returns the error. Panics if the launch succeeds.
fn refusal<K: SafeKernel>(stream: &Stream, config: &LaunchConfig, kernel: &K) -> LaunchError {
    match stream.launch(config, kernel).map_err(|e| e.kind) {
        Err(ErrorKind::Launch(refusal)) => refusal,
        Err(other) => panic!("on {}: {other}", stream.device()),
        Ok(()) => panic!("on {}: {config:?} was not refused", stream.device()),
    }
}

fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

#[test]
fn a_block_over_the_kernels_bounds() {
    on_each_device(|stream| {
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        for block in [[97, 1, 1], [49, 2, 1], [1, 1, 97], [1 << 31, 1 << 31, 4]] {
            let kernel = Bounds96 { out: out.view_mut() };
            let expected = LaunchError::BlockTooLarge { kernel: "bounds_96", block, limit: 96 };
            assert_eq!(refusal(stream, &config([1; 3], block), &kernel), expected);
        }
        assert_eq!(out.download(stream).unwrap(), [0], "the kernel ran");
    });
}

#[test]
fn a_block_deeper_than_cuda_allows() {
    on_each_device(|stream| {
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        let mut run = |block| {
            let kernel = BoundsNone { out: out.view_mut() };
            stream.launch(&config([1; 3], block), &kernel)
        };
        run([1, 1, 64]).unwrap();
        let refused = run([1, 1, 65]).unwrap_err().kind.to_string();
        assert_eq!(
            refused,
            "kernel `bounds_none`: a block of [1, 1, 65] threads is over the kernel's launch bound of \
             1024 threads, or over CUDA's limit of 64 along z; use a smaller block"
        );
        run([1025, 1, 1]).unwrap_err();
        run([1024, 1, 1]).unwrap();
        assert_eq!(out.download(stream).unwrap(), [64 + 1024]);
    });
}

#[test]
fn a_launch_without_threads() {
    on_each_device(|stream| {
        for (grid, block) in [
            ([0, 1, 1], [1, 1, 1]),
            ([1, 0, 1], [1, 1, 1]),
            ([1, 1, 0], [1, 1, 1]),
            ([1, 1, 1], [0, 1, 1]),
            ([1, 1, 1], [1, 1, 0]),
        ] {
            let refused = refusal(stream, &config(grid, block), &Nothing {});
            let kernel = Nothing::ENTRY.name;
            assert_eq!(refused, LaunchError::EmptyLaunch { kernel, grid, block });
        }
        let cover = LaunchConfig::cover(0, 100, [16, 16]);
        assert_eq!(
            refusal(stream, &cover, &Nothing {}).to_string(),
            "kernel `nothing`: grid [0, 7, 1] of blocks [16, 16, 1] has no threads; check the output size"
        );
        let cover = LaunchConfig::cover(100, 100, [16, 0]);
        assert!(matches!(refusal(stream, &cover, &Nothing {}), LaunchError::EmptyLaunch { .. }));
    });
}

#[test]
fn a_grid_larger_than_cuda_allows() {
    on_each_device(|stream| {
        for grid in [[1 << 31, 1, 1], [1, 65536, 1], [1, 1, 65536], [u32::MAX; 3]] {
            let refused = refusal(stream, &config(grid, [1; 3]), &Nothing {});
            assert_eq!(refused, LaunchError::GridTooLarge { kernel: "nothing", grid });
        }
        assert_eq!(
            refusal(stream, &config([1, 65536, 1], [1; 3]), &Nothing {}).to_string(),
            "kernel `nothing`: a grid of [1, 65536, 1] blocks is over CUDA's limit of \
             [2147483647, 65535, 65535], or has 2³² or more threads along an axis; split the work into \
             several launches"
        );
        stream.launch(&config([1, 65535, 1], [1; 3]), &Nothing {}).unwrap();
        stream.launch(&config([1, 1, 65535], [1; 3]), &Nothing {}).unwrap();
        stream.synchronize().unwrap();
    });
}

#[test]
fn memory_of_another_device() {
    let Some(gpu) = gpu() else { return };
    let cpu = Device::cpu();
    let places = [Place::Cpu, Place::Cuda(0)];
    for (here, there, [wanted, found]) in
        [(&cpu, &gpu, places), (&gpu, &cpu, [places[1], places[0]])]
    {
        let stream = here.stream().unwrap();
        let mut out = Buffer::<u32>::new(there, 1).unwrap();
        let kernel = BoundsNone { out: out.view_mut() };
        let refused = refusal(&stream, &config([1; 3], [1; 3]), &kernel);
        let kernel = BoundsNone::ENTRY.name;
        assert_eq!(refused, LaunchError::WrongDevice { kernel, found, wanted });
    }
}

/// Tests `LaunchError::WrongDevice` on a machine without a GPU: the test passes host memory as if it were memory of a
/// GPU.
#[test]
fn memory_that_claims_to_lie_on_a_gpu() {
    let mut word = 0_u32;
    // SAFETY: the launch fails because the slice claims to be on another device, so no kernel accesses `word`.
    let out = unsafe { cuda_std::DeviceSliceMut::new(Place::Cuda(3), &raw mut word, 1) };
    let stream = Device::cpu().stream().unwrap();
    let refused = refusal(&stream, &config([1; 3], [1; 3]), &BoundsNone { out });
    assert_eq!(
        refused.to_string(),
        "kernel `bounds_none`: an argument is on cuda:3, but the stream runs on cpu; \
         copy the argument to cpu first"
    );
    assert_eq!(word, 0);
}

#[test]
fn a_launch_along_an_axis_that_the_kernel_does_not_read() {
    on_each_device(|stream| {
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        for (grid, block) in [([1, 1, 2], [1; 3]), ([1; 3], [1, 1, 2])] {
            let kernel = BoundsEmpty { out: out.view_mut() };
            let expected =
                LaunchError::TooManyDimensions { kernel: "bounds_empty", grid, block, dims: 2 };
            assert_eq!(refusal(stream, &config(grid, block), &kernel), expected);
        }
        let kernel = BoundsEmpty { out: out.view_mut() };
        stream.launch(&config([2, 2, 1], [2, 2, 1]), &kernel).unwrap();
        assert_eq!(out.download(stream).unwrap(), [16]);
    });
}

#[test]
fn indices_that_would_wrap() {
    on_each_device(|stream| {
        let grid = [1 << 24, 1, 1];
        let expected = LaunchError::GridTooLarge { kernel: "nothing", grid };
        assert_eq!(refusal(stream, &config(grid, [256, 1, 1]), &Nothing {}), expected);
    });
}

#[test]
fn more_shared_memory_than_any_gpu_has() {
    on_each_device(|stream| {
        let config = config([1; 3], [1; 3]).with_dynamic_shared(1 << 20);
        let refused = refusal(stream, &config, &Nothing {});
        assert!(matches!(refused, LaunchError::SharedTooLarge { bytes: 0x10_0000, .. }));
    });
}
