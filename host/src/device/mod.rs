//! Devices: where kernels run and memory lies, be it an NVIDIA GPU or the CPU.
//!
//! The types are those of [`cust::typed`]. Here are the names by which a user asks for a device, and the
//! words in which the log says why there is no GPU.

mod name;

pub use cust::typed::{
    Address, Arch, Array, Buffer, Counters, CudaInfo, Device, DeviceError, ErrorKind, Event,
    Filter, Image, KernelModule, KernelResources, LaunchConfig, Pinned, Place, Priority, PtxImage,
    PtxText, Stream, Texel, Texture, TextureMode,
};
pub(crate) use cust::typed::{Rows, RowsMut, Textures, insist};

pub use name::{DeviceName, DeviceNameError};

/// The first GPU that can be used, else the CPU; the log says why.
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
