//! The GPUs of the machine and their properties.

use std::ffi::CStr;

use cust_raw::driver_sys::{self as sys, CUdevice_attribute as Attribute};
use cust_raw::error::DriverResult;

use super::error::{Check, DeviceError, ErrorKind};
use super::ptx::Arch;

/// A GPU, identified by the driver's number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gpu(pub(crate) sys::CUdevice);

impl Gpu {
    /// Loads and initialises the driver and returns the number of GPUs.
    #[track_caller]
    pub(crate) fn count() -> Result<u32, DeviceError> {
        const OP: &str = "initialising the CUDA driver";
        cust_raw::driver().map_err(|e| ErrorKind::NoDriver(e.to_string())).check(OP)?;
        cust_raw::init().check(OP)?;
        let mut count = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGetCount(&raw mut count) }.check("counting CUDA devices")?;
        Ok(count.unsigned_abs())
    }

    #[track_caller]
    pub(crate) fn get(ordinal: u32) -> Result<Self, DeviceError> {
        const OP: &str = "opening a CUDA device";
        let count = Self::count()?;
        if ordinal >= count {
            return Err(DeviceError::new(
                OP,
                ErrorKind::NoDevice(format!(
                    "there is no CUDA device {ordinal}: the driver reports {count} devices; use an \
                     ordinal below {count}, or use the device `cpu`"
                )),
            ));
        }
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGet(&raw mut device, ordinal as i32) }.check(OP)?;
        Ok(Self(device))
    }

    /// Returns the GPU of the context that is current on this thread.
    pub(super) fn current() -> DriverResult<Self> {
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuCtxGetDevice(&raw mut device) }.to_result().map(|()| Self(device))
    }

    pub(crate) fn attribute(self, which: Attribute) -> DriverResult<i32> {
        let mut value = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, self.0) }.to_result()?;
        Ok(value)
    }
}

/// A description of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaInfo {
    /// The device ordinal that CUDA uses.
    pub ordinal: u32,
    /// The product name.
    pub name: String,
    /// The compute capability.
    pub arch: Arch,
    /// The size of the device memory in bytes.
    pub memory: usize,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The maximum shared memory of a block in bytes, if the kernel opts in.
    pub shared_per_block: u32,
    /// The required alignment of a texture's base address in bytes.
    pub texture_alignment: u32,
    /// The required alignment of a texture's row pitch in bytes.
    pub texture_pitch: u32,
}

impl CudaInfo {
    #[track_caller]
    pub(crate) fn of(ordinal: u32, gpu: Gpu) -> Result<Self, DeviceError> {
        const OP: &str = "describing a CUDA device";
        let attribute = |which| gpu.attribute(which).check(OP).map(|value| value as u32);
        let (mut name, mut memory) = ([0_u8; 256], 0);
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, including a terminating zero, and a size.
        unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), room, gpu.0).check(OP)?;
            sys::cuDeviceTotalMem_v2(&raw mut memory, gpu.0).check(OP)?;
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(Self {
            ordinal,
            name: name.to_string_lossy().into_owned(),
            arch: Arch {
                major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            },
            memory,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_per_block: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            texture_alignment: attribute(Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)?,
            texture_pitch: attribute(Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT)?,
        })
    }
}
