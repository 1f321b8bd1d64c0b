//! GPUs, and what there is to know about each.

use std::ffi::CStr;

use crate::sys;
use cust_raw::error::DriverResult as CudaResult;

pub use sys::CUdevice_attribute as DeviceAttribute;

/// A GPU, by the number that the driver gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(sys::CUdevice);

impl Device {
    /// How many there are.
    ///
    /// # Errors
    /// What the driver says.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGetCount(&raw mut count) }.to_result()?;
        Ok(count.unsigned_abs())
    }

    /// The one with this ordinal.
    ///
    /// # Errors
    /// No such device, or what the driver says.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let mut device = 0;
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGet(&raw mut device, ordinal) }.to_result()?;
        Ok(Self(device))
    }

    /// Product name.
    ///
    /// # Errors
    /// What the driver says.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, a zero among them.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), room, self.0) }.to_result()?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Device memory in bytes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0) }.to_result()?;
        Ok(bytes)
    }

    /// One of its many numbers.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.0) }.to_result()?;
        Ok(value)
    }

    /// As the driver knows it.
    #[must_use]
    pub fn as_raw(self) -> sys::CUdevice {
        self.0
    }
}
