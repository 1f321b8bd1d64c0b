//! Devices, which run kernels and own memory: an NVIDIA GPU or the CPU.
//!
//! The types are re-exported from [`cust::typed`]. This module adds the device names that users pass, and the log
//! message about a missing GPU.

mod name;

pub use cust::typed::{
    Address, Arch, Array, Buffer, Counters, CudaInfo, Device, DeviceError, ErrorKind, Event,
    Filter, Image, KernelModule, KernelResources, LaunchConfig, Pinned, Place, Priority, PtxImage,
    PtxText, Stream, Texel, Texture, TextureMode,
};
pub(crate) use cust::typed::{Rows, RowsMut, Textures, insist};

pub use name::{DeviceName, DeviceNameError};

/// Returns the first usable GPU, otherwise the CPU, and logs the reason.
pub(crate) fn auto() -> Device {
    Device::first_gpu().unwrap_or_else(|error| {
        if error.is_no_device() {
            let reason = match error.kind {
                ErrorKind::NoDriver(reason) => reason,
                kind => kind.to_string(),
            };
            tracing::info!("no GPU, using the CPU; `panoweave info` says why");
            tracing::debug!("no GPU: {reason}");
        } else {
            tracing::warn!("the GPU cannot be used, using the CPU: {error}");
        }
        Device::cpu()
    })
}
