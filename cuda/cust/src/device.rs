//! CUDA devices and their properties.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::device::{Device, DeviceAttribute};
//!
//! let device = Device::get_device(0)?;
//! assert_eq!(device.name()?, "CPU");
//! assert_eq!(device.get_attribute(DeviceAttribute::WarpSize)?, 32);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::thread;

use cust_raw::driver_sys::CUdevice_attribute;

use crate::backend::{Backend, backend};
use crate::error::{CudaError, CudaResult};
use crate::typed::CudaInfo;
use crate::typed::gpu::Gpu;

/// A CUDA device. On the CPU backend, the only device is the CPU, with number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    pub(crate) ordinal: u32,
}

impl Device {
    /// Returns the number of devices.
    pub fn num_devices() -> CudaResult<u32> {
        match backend() {
            Backend::Cpu => Ok(1),
            Backend::Gpu => Ok(Gpu::count()?),
        }
    }

    /// Returns the device with this ordinal.
    ///
    /// # Errors
    /// Returns `InvalidDevice` if there is no such device, or the driver's error.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let exists = ordinal < Self::num_devices()?;
        exists.then_some(Self { ordinal }).ok_or(CudaError::InvalidDevice)
    }

    /// Returns the product name.
    pub fn name(self) -> CudaResult<String> {
        match backend() {
            Backend::Cpu => Ok("CPU".to_owned()),
            Backend::Gpu => Ok(CudaInfo::of(self.ordinal, Gpu::get(self.ordinal)?)?.name),
        }
    }

    /// Returns the value of an attribute. On the CPU, an attribute without meaning is 0.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        use DeviceAttribute::{MaxThreadsPerBlock, MultiprocessorCount, WarpSize};
        let cores = || thread::available_parallelism().map_or(1, |cores| cores.get() as i32);
        match (backend(), attribute) {
            (Backend::Gpu, which) => {
                Ok(Gpu::get(self.ordinal)?.attribute(CUdevice_attribute(which as u32))?)
            }
            (Backend::Cpu, MaxThreadsPerBlock) => Ok(1024),
            (Backend::Cpu, WarpSize) => Ok(32),
            (Backend::Cpu, MultiprocessorCount) => Ok(cores()),
            (Backend::Cpu, _) => Ok(0),
        }
    }
}

/// A device property with an integer value.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// The maximum number of threads per block.
    MaxThreadsPerBlock = 1,
    /// The number of threads per warp.
    WarpSize = 10,
    /// The peak clock rate of the multiprocessors in kHz.
    ClockRate = 13,
    /// The number of multiprocessors.
    MultiprocessorCount = 16,
    /// The PCI bus number.
    PciBusId = 33,
    /// The PCI device number.
    PciDeviceId = 34,
    /// The peak clock rate of the device memory in kHz.
    MemoryClockRate = 36,
    /// The width of the memory bus in bits.
    GlobalMemoryBusWidth = 37,
    /// The PCI domain number.
    PciDomainId = 50,
    /// The major version of the compute capability.
    ComputeCapabilityMajor = 75,
    /// The minor version of the compute capability.
    ComputeCapabilityMinor = 76,
}
