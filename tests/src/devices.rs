//! The devices that tests run on.

use panoweave::device::Device;

/// The CPU, and the first GPU with panoweave's kernels where there is one.
///
/// # Panics
/// If there is no GPU although `PANOWEAVE_REQUIRE_GPU` is set, or if it fails to open.
#[must_use]
pub fn panoweave_devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu()];
    devices.extend(gpu());
    devices
}

/// The first GPU, or `None` with a line on stderr.
///
/// # Panics
/// As [`panoweave_devices`].
#[must_use]
pub fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(e) if e.is_no_device() && std::env::var_os("PANOWEAVE_REQUIRE_GPU").is_none() => {
            eprintln!("skipped on the GPU: {e}");
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    }
}
