//! The devices that tests run on: the CPU always, and the first GPU where there is one.
//!
//! Without a GPU the GPU half of a test is skipped; with `PANOWEAVE_REQUIRE=gpu` it fails.

use panoweave::device::{Device, KernelModule};

use crate::skip::{Need, skip};

/// The CPU, and the first GPU with panoweave's kernels where there is one.
///
/// # Panics
/// As [`first_gpu`].
#[must_use]
pub fn panoweave_devices() -> Vec<Device> {
    [Device::cpu()].into_iter().chain(gpu()).collect()
}

/// The first GPU with panoweave's kernels.
///
/// # Panics
/// As [`first_gpu`].
#[must_use]
pub fn gpu() -> Option<Device> {
    let images = panoweave::kernels::IMAGES;
    first_gpu(&[KernelModule { package: "kernels-gpu", images }])
}

/// The first GPU with some kernels loaded, or `None` with a line on standard error.
///
/// # Panics
/// If there is none and `PANOWEAVE_REQUIRE` lists `gpu`, or if there is one that does not work.
#[must_use]
pub fn first_gpu(modules: &[KernelModule]) -> Option<Device> {
    match Device::cuda_with(0, modules) {
        Ok(device) => Some(device),
        Err(e) if e.is_no_device() => {
            skip(Need::Gpu, &e.kind);
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    }
}
