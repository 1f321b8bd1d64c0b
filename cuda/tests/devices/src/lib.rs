//! The PTX of the conformance kernels (`cuda/conformance`), and functions that run a test of these kernels on the CPU
//! and on the first GPU. They are a package of their own, because the tests of panoweave use the helpers in `kit-tests`
//! without these kernels.

use std::sync::OnceLock;

use cust::typed::{Arch, Device, KernelModule, PtxImage, PtxText, Stream};

use kit_tests::first_gpu;

/// The PTX of the crate `conformance`, for compute capabilities 8.0 and 9.0.
pub static CONFORMANCE: &[PtxImage] = &[
    PtxImage {
        arch: Arch { major: 8, minor: 0 },
        text: PtxText::Static(include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_80.ptx"))),
    },
    PtxImage {
        arch: Arch { major: 9, minor: 0 },
        text: PtxText::Static(include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_90.ptx"))),
    },
];

/// The conformance kernels as a module that a device can load.
pub const CONFORMANCE_MODULE: KernelModule =
    KernelModule { package: "conformance", images: CONFORMANCE };

/// Returns the first GPU with the conformance kernels loaded, or `None` if there is no GPU. All tests in a process
/// share this device.
///
/// # Panics
/// Panics in the same cases as [`first_gpu`].
#[must_use]
pub fn gpu() -> Option<Device> {
    static GPU: OnceLock<Option<Device>> = OnceLock::new();
    GPU.get_or_init(|| first_gpu(&[CONFORMANCE_MODULE])).clone()
}

/// Returns the CPU, and the device of [`gpu`] if there is one.
#[must_use]
pub fn devices() -> Vec<Device> {
    [Device::cpu()].into_iter().chain(gpu()).collect()
}

/// Runs `test` on a stream of each device and returns the results. The CPU's result is first.
///
/// # Panics
/// Panics if `test` panics, or if a device cannot create a stream.
pub fn on_each_device<R>(test: impl Fn(&Stream) -> R) -> Vec<R> {
    devices()
        .iter()
        .map(|device| {
            let stream = device.stream().unwrap_or_else(|e| panic!("{device}: {e}"));
            test(&stream)
        })
        .collect()
}

/// Runs `test` on each device and checks that it returns exactly `expected` on all of them.
///
/// # Panics
/// Panics if the result of a device differs from `expected`.
pub fn all_give<R: PartialEq + std::fmt::Debug>(expected: &R, test: impl Fn(&Stream) -> R) {
    on_each_device(|stream| assert_eq!(test(stream), *expected, "on {}", stream.device()));
}
