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

/// Launches that no kernel accepts: the grid, the block, and the text that the error contains.
const SHAPES: [([u32; 3], [u32; 3], &str); 12] = [
    ([0, 1, 1], [1, 1, 1], "[0, 1, 1] of blocks [1, 1, 1] has no threads; check the output size"),
    ([1, 0, 1], [1, 1, 1], "has no threads"),
    ([1, 1, 0], [1, 1, 1], "has no threads"),
    ([1, 1, 1], [0, 1, 1], "has no threads"),
    ([1, 1, 1], [1, 1, 0], "has no threads"),
    ([1, 1, 1], [1025, 1, 1], "over the kernel's launch bound of 1024 threads"),
    ([1, 1, 1], [1 << 31, 1 << 31, 4], "over the kernel's launch bound of 1024 threads"),
    ([1, 1, 1], [1, 1, 65], "or over CUDA's limit of 64 along z; use a smaller block"),
    ([1 << 31, 1, 1], [1, 1, 1], "over CUDA's limit of [2147483647, 65535, 65535]"),
    ([1, 65536, 1], [1, 1, 1], "split the work into several launches"),
    ([1, 1, 65536], [1, 1, 1], "split the work into several launches"),
    ([1 << 24, 1, 1], [256, 1, 1], "has 2³² or more threads along an axis"),
];

#[test]
fn shapes_that_cuda_does_not_allow() {
    on_each_device(|stream| {
        for (grid, block, text) in SHAPES {
            let refused = refusal(stream, &config(grid, block), &Nothing {}).to_string();
            assert!(
                refused.starts_with("kernel `nothing`: ") && refused.contains(text),
                "{refused}"
            );
        }
        let cover = LaunchConfig::cover(100, 100, [16, 0]);
        assert!(matches!(refusal(stream, &cover, &Nothing {}), LaunchError::EmptyLaunch { .. }));
        let shared = config([1; 3], [1; 3]).with_dynamic_shared(1 << 20);
        let refused = refusal(stream, &shared, &Nothing {});
        assert!(matches!(refused, LaunchError::SharedTooLarge { bytes: 0x10_0000, .. }));
        for (grid, block) in
            [([1, 65535, 1], [1; 3]), ([1, 1, 65535], [1; 3]), ([1; 3], [1, 1, 64])]
        {
            stream.launch(&config(grid, block), &Nothing {}).unwrap();
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn shapes_that_a_kernel_does_not_allow() {
    on_each_device(|stream| {
        let mut out = Buffer::<u32>::new(stream.device(), 1).unwrap();
        for block in [[97, 1, 1], [49, 2, 1], [1, 1, 97]] {
            let kernel = Bounds96 { out: out.view_mut() };
            let expected = LaunchError::BlockTooLarge { kernel: "bounds_96", block, limit: 96 };
            assert_eq!(refusal(stream, &config([1; 3], block), &kernel), expected);
        }
        for (grid, block) in [([1, 1, 2], [1; 3]), ([1; 3], [1, 1, 2])] {
            let kernel = BoundsEmpty { out: out.view_mut() };
            let expected =
                LaunchError::TooManyDimensions { kernel: "bounds_empty", grid, block, dims: 2 };
            assert_eq!(refusal(stream, &config(grid, block), &kernel), expected);
        }
        assert_eq!(out.download(stream).unwrap(), [0], "a kernel ran");
        let kernel = BoundsEmpty { out: out.view_mut() };
        stream.launch(&config([2, 2, 1], [2, 2, 1]), &kernel).unwrap();
        assert_eq!(out.download(stream).unwrap(), [16]);
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
