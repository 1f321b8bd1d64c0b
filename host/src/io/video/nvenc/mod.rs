//! Encodes frames in device memory with NVENC, the video encoder of NVIDIA GPUs, to an H.264 or HEVC bitstream.
//!
//! The driver's library `libnvidia-encode.so.1` is loaded at run time. A [`Session`] owns the encoder. Each frame is
//! copied to a buffer that the encoder reads, so the caller can reuse the frame at once. There are no B pictures, so
//! the pictures of the bitstream are in display order and need no timestamps.
//!
//! **Untested on hardware**: the project has no GPU with NVENC. The tests use a fake library, which checks each call
//! against the rules of the interface.

mod library;
mod session;
mod settings;
mod structures;

use cust_raw::driver_sys::CUresult;
use thiserror::Error;

pub(super) use self::library::Functions;
pub use self::library::NvencStatus;
pub(super) use self::session::Session;
pub(super) use self::settings::{Bitstream, Settings};
use crate::device::{Device, DeviceError};
use crate::frame::FormatMismatch;

/// The encoder of files.
#[derive(Clone, Debug, Default)]
pub enum VideoEncoder {
    /// libx264 or libx265 in ffmpeg, on the CPU.
    #[default]
    Ffmpeg,
    /// NVENC of this GPU. **It has not been tested on a GPU with NVENC.**
    ///
    /// The output is H.264 (High), or HEVC (Main) if the GPU does not encode H.264 of this size; 10-bit video is HEVC
    /// (Main 10). The [`Crf`](super::Crf) is the constant quality level, whose range is the same, but whose quality and
    /// file size differ from those of libx264 and libx265. A CRF of 0 is lossless, which some GPUs do not support.
    Nvenc(Device),
}

/// The error of an encoder, or the reason why NVENC does not encode a video.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum NvencError {
    /// The device is the CPU.
    #[error("the device is the CPU; select a GPU with --device")]
    NoGpu,
    /// The output is a stream or a picture sequence.
    #[error("it writes only .mp4, .m4v, .mov and .mkv files")]
    NoFile,
    /// The library of the driver cannot be loaded.
    #[error("{0}; {name} belongs to the NVIDIA driver; in a container, set NVIDIA_DRIVER_CAPABILITIES to compute,video,utility", name = library::NAME)]
    Library(String),
    /// The library lacks a function.
    #[error("{name} has no function {0}; install the NVIDIA driver again", name = library::NAME)]
    NoFunction(&'static str),
    /// The driver supports only older versions of the interface.
    #[error("the driver supports version {}.{} of the interface, but {}.{} is required; install a driver of CUDA 12 or later", found[0], found[1], required[0], required[1])]
    OldDriver {
        /// The newest version that the driver supports.
        found: [u32; 2],
        /// The required version.
        required: [u32; 2],
    },
    /// The GPU has no encoder.
    #[error("the GPU has no video encoder ({0}); A100, H100 and H200 have none")]
    NoEncoder(NvencStatus),
    /// The encoder does not support the size of the frames.
    #[error("the GPU encodes {codec} with {}×{} to {}×{} pixels, but the frames have {}×{}", least[0], least[1], most[0], most[1], size[0], size[1])]
    Size {
        /// The name of the codec.
        codec: &'static str,
        /// The smallest width and height in pixels.
        least: [u32; 2],
        /// The largest width and height in pixels.
        most: [u32; 2],
        /// The width and height of the frames in pixels.
        size: [u32; 2],
    },
    /// The encoder does not support 10 bits per sample.
    #[error("the GPU does not encode HEVC of 10 bits; --depth 8 selects 8 bits")]
    TenBits,
    /// The encoder does not support lossless video.
    #[error("the GPU does not encode {0} without loss; give a --crf of at least 1")]
    Lossless(&'static str),
    /// The pixel format of the frames is not supported.
    #[error("it encodes only NV12 and P010")]
    Pixels,
    /// A frame does not have the format of the video.
    #[error(transparent)]
    Format(#[from] FormatMismatch),
    /// A function of NVENC failed.
    #[error("{function} failed: {status}{}{}", quote(detail), hint(*status))]
    Call {
        /// The name of the function.
        function: &'static str,
        /// The result of the function.
        status: NvencStatus,
        /// The library's description of the error. It may be empty.
        detail: String,
    },
    /// The encoder returns no pictures although all its buffers are in use.
    #[error("the encoder accepts no more frames, but returns no pictures")]
    Stalled,
    /// The CUDA context of the GPU cannot be used.
    #[error("the CUDA context cannot be made current: {}", .0.text())]
    Context(CUresult),
    /// A frame could not be copied.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn quote(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(" ({detail})") }
}

/// Returns the explanation of a result whose name does not explain it.
fn hint(status: NvencStatus) -> &'static str {
    match status {
        NvencStatus::OUT_OF_MEMORY | NvencStatus::INCOMPATIBLE_CLIENT_KEY => {
            "; GeForce GPUs limit the number of encoders, so end other programs that encode"
        }
        _ => "",
    }
}

/// Checks that NVENC can be used on a device, and returns its functions. Does not check the abilities of the GPU.
pub(super) fn functions(device: &Device) -> Result<&'static Functions, NvencError> {
    if device.cuda_info().is_none() {
        return Err(NvencError::NoGpu);
    }
    library::functions()
}
