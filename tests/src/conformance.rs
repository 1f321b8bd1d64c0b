//! The conformance kernels, and running a test on every device that has them loaded.

use std::sync::OnceLock;

use panoweave::device::{Arch, Device, KernelModule, PtxImage, PtxText, Stream};

use crate::devices::first_gpu;

/// PTX of the crate `conformance`.
pub static CONFORMANCE: &[PtxImage] = &[
    PtxImage {
        arch: Arch { major: 8, minor: 7 },
        text: PtxText::Static(include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_87.ptx"))),
    },
    PtxImage {
        arch: Arch { major: 9, minor: 0 },
        text: PtxText::Static(include_str!(concat!(env!("OUT_DIR"), "/conformance.sm_90.ptx"))),
    },
];

/// The same, to be loaded.
pub const CONFORMANCE_MODULE: KernelModule =
    KernelModule { package: "conformance", images: CONFORMANCE };

/// The first GPU with the conformance kernels loaded, the same one for every test of a program.
///
/// # Panics
/// As [`first_gpu`].
#[must_use]
pub fn gpu() -> Option<Device> {
    static GPU: OnceLock<Option<Device>> = OnceLock::new();
    GPU.get_or_init(|| first_gpu(&[CONFORMANCE_MODULE])).clone()
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
