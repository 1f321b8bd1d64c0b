//! The devices that a test runs on, and the conformance kernels that they have loaded.
//!
//! The CPU always, and the first GPU where there is one. Where there is none, that is said once on
//! standard error; with `PANOWEAVE_REQUIRE_GPU=1` it fails the test instead.

use std::env;
use std::sync::OnceLock;

use panoweave::device::{Arch, Device, PtxImage, Stream};

/// PTX of the crate `conformance`.
pub static CONFORMANCE: &[PtxImage] = &[
    PtxImage {
        arch: Arch { major: 8, minor: 7 },
        text: include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_87.ptx")),
    },
    PtxImage {
        arch: Arch { major: 9, minor: 0 },
        text: include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_90.ptx")),
    },
];

/// The first GPU with the conformance kernels loaded, the same one for every test of a program.
///
/// # Panics
/// If there is none and `PANOWEAVE_REQUIRE_GPU` is 1, or if there is one that does not work.
#[must_use]
pub fn gpu() -> Option<Device> {
    static GPU: OnceLock<Option<Device>> = OnceLock::new();
    GPU.get_or_init(|| match Device::cuda_with(0, CONFORMANCE) {
        Ok(device) => {
            eprintln!("running on {device} too");
            Some(device)
        }
        Err(e) if e.is_no_device() && !is_gpu_required() => {
            eprintln!("skipping the GPU: {e}");
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    })
    .clone()
}

/// Whether `PANOWEAVE_REQUIRE_GPU=1` makes a missing GPU a failure.
#[must_use]
pub fn is_gpu_required() -> bool {
    env::var("PANOWEAVE_REQUIRE_GPU").is_ok_and(|value| value == "1")
}

/// The CPU, and the GPU where there is one.
#[must_use]
pub fn devices() -> Vec<Device> {
    [Device::cpu()].into_iter().chain(gpu()).collect()
}

/// Runs `test` on each device, with a stream of it, and returns the results: the CPU's first.
///
/// # Panics
/// If `test` does, or a device has no stream to give.
pub fn on_each_device<R>(test: impl Fn(&Stream) -> R) -> Vec<R> {
    devices()
        .iter()
        .map(|device| {
            let stream = device.stream().unwrap_or_else(|e| panic!("{device}: {e}"));
            test(&stream)
        })
        .collect()
}

/// Runs `test` on each device and expects exactly `expected` from all of them.
///
/// # Panics
/// If a device gives anything else.
pub fn all_give<R: PartialEq + std::fmt::Debug>(expected: &R, test: impl Fn(&Stream) -> R) {
    on_each_device(|stream| assert_eq!(test(stream), *expected, "on {}", stream.device()));
}
