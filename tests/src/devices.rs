//! The devices that tests run on: the CPU always, and the first GPU if there is one.
//!
//! If there is no GPU, the GPU part of a test is skipped. With `PANOWEAVE_REQUIRE=gpu`, the test fails instead.

use panoweave::device::{Device, KernelModule};

use kit_tests::first_gpu;

/// Returns the CPU simulator, the CPU, and the first GPU with panoweave's kernels if there is one.
///
/// # Panics
/// Panics in the same cases as [`first_gpu`].
#[must_use]
pub fn panoweave_devices() -> Vec<Device> {
    [Device::simulator(), Device::cpu()].into_iter().chain(gpu()).collect()
}

/// Returns whether `device` computes kernels exactly as they are written: it is the simulator or a GPU. Functions for
/// the CPU may differ from the kernels by a level.
#[must_use]
pub fn runs_kernels(device: &Device) -> bool {
    device.to_string() != Device::cpu().to_string()
}

/// Returns the first GPU with panoweave's kernels. If there is no GPU, reports a skip and returns `None`.
///
/// # Panics
/// Panics in the same cases as [`first_gpu`].
#[must_use]
pub fn gpu() -> Option<Device> {
    let images = panoweave::kernels::IMAGES;
    first_gpu(&[KernelModule { package: "kernels-gpu", images }])
}
