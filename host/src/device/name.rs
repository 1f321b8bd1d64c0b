//! Names of devices: `auto`, `cpu`, `simulator` and `cuda:N`.

use std::fmt;
use std::str::FromStr;

use super::{Device, DeviceError};

/// The error for a text that is not the name of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the device must be auto, cpu, simulator or cuda:N, where N is a GPU's number from 0, such as cuda:0"
)]
pub struct DeviceNameError;

/// The name of a device. It parses from the texts `auto`, `cpu`, `simulator` and `cuda:N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceName {
    /// The first GPU if it is usable, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CPU simulator, which runs every kernel thread by thread and checks its accesses; for authors of kernels.
    Simulator,
    /// The GPU with this number, counted from 0.
    Cuda(u32),
}

impl DeviceName {
    /// Opens the device with this name.
    ///
    /// # Errors
    /// Returns the error of [`Device::cuda`] for [`Cuda`](Self::Cuda). The other names never fail.
    #[track_caller]
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Auto => Ok(super::auto()),
            Self::Cpu => Ok(Device::cpu()),
            Self::Simulator => Ok(Device::simulator()),
            Self::Cuda(ordinal) => Device::cuda(ordinal),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Simulator => f.write_str("simulator"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for DeviceName {
    type Err = DeviceNameError;

    fn from_str(name: &str) -> Result<Self, DeviceNameError> {
        match name.split_once(':') {
            None if name == "auto" => Ok(Self::Auto),
            None if name == "cpu" => Ok(Self::Cpu),
            None if name == "simulator" => Ok(Self::Simulator),
            // Requires digits, because `u32::parse` alone would accept `cuda:+1`.
            Some(("cuda", ordinal)) if ordinal.bytes().all(|b| b.is_ascii_digit()) => {
                ordinal.parse().map(Self::Cuda).map_err(|_| DeviceNameError)
            }
            _ => Err(DeviceNameError),
        }
    }
}
