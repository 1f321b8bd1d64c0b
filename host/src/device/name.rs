//! Devices by name: `auto`, `cpu`, `cuda:N`.

use std::str::FromStr;

use super::{Device, DeviceError};

/// The text is not the name of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device must be auto, cpu or cuda:N, where N is a GPU's number from 0, such as cuda:0")]
pub struct DeviceNameError;

/// A device by name; parsed from `auto`, `cpu` or `cuda:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceName {
    /// The first GPU, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with this ordinal.
    Cuda(u32),
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// Returns the error of [`Device::cuda`].
    #[track_caller]
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Auto => Ok(super::auto()),
            Self::Cpu => Ok(Device::cpu()),
            Self::Cuda(ordinal) => Device::cuda(ordinal),
        }
    }
}

impl FromStr for DeviceName {
    type Err = DeviceNameError;

    fn from_str(name: &str) -> Result<Self, DeviceNameError> {
        match name.split_once(':') {
            None if name == "auto" => Ok(Self::Auto),
            None if name == "cpu" => Ok(Self::Cpu),
            // `parse` alone would accept a plus sign.
            Some(("cuda", ordinal)) if ordinal.bytes().all(|b| b.is_ascii_digit()) => {
                ordinal.parse().map(Self::Cuda).map_err(|_| DeviceNameError)
            }
            _ => Err(DeviceNameError),
        }
    }
}
