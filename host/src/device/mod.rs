//! Devices, which run kernels and own memory. A device is an NVIDIA GPU or the CPU.
//!
//! The device types are re-exported from [`cust::typed`]. This module adds device names such as `cuda:0`, and the
//! choice of a device for the name `auto`.

mod name;

pub use cust::typed::{
    Address, Arch, Array, Buffer, Checks, Counters, CudaInfo, Device, DeviceError, ErrorKind,
    Event, Filter, Image, KernelModule, KernelResources, LaunchConfig, Pinned, Place, Priority,
    PtxImage, PtxText, Stream, Texel, Texture, TextureMode,
};
pub(crate) use cust::typed::{Rows, RowsMut, Textures, insist};

pub use name::{DeviceName, DeviceNameError};

/// Returns the first GPU if it is usable, otherwise the CPU. Logs why the CPU is used.
pub(crate) fn auto() -> Device {
    Device::first_gpu().unwrap_or_else(|error| {
        if error.is_no_device() {
            let reason = match error.kind {
                ErrorKind::NoDriver(reason) => reason,
                kind => kind.to_string(),
            };
            tracing::info!("no GPU, using the CPU; `panoweave info` shows the reason");
            tracing::debug!("no GPU: {reason}");
        } else {
            tracing::warn!("the GPU failed, using the CPU instead: {error}");
        }
        Device::cpu()
    })
}
