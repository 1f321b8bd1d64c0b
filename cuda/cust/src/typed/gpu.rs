//! What the typed interface asks of NVIDIA's driver about a device, always of a GPU.

use std::ffi::CStr;
use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::error::DriverResult;

/// A GPU, by the number that the driver gave it.
#[derive(Clone, Copy)]
pub(super) struct Gpu(sys::CUdevice);

impl Gpu {
    pub(super) fn count() -> DriverResult<u32> {
        let mut count = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGetCount(&raw mut count) }.to_result()?;
        Ok(count.unsigned_abs())
    }

    pub(super) fn get(ordinal: u32) -> DriverResult<Self> {
        let mut device = 0;
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGet(&raw mut device, ordinal) }.to_result()?;
        Ok(Self(device))
    }

    pub(super) fn name(self) -> DriverResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, a zero among them.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), room, self.0) }.to_result()?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub(super) fn memory(self) -> DriverResult<usize> {
        let mut bytes = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0) }.to_result()?;
        Ok(bytes)
    }

    pub(super) fn attribute(self, which: sys::CUdevice_attribute) -> DriverResult<u32> {
        let mut value = 0;
        // SAFETY: the result is written.
        unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, self.0) }.to_result()?;
        Ok(value as u32)
    }
}

/// Keeps the primary context of a GPU alive. Makes it current on no thread.
pub(super) struct PrimaryContext {
    raw: sys::CUcontext,
    gpu: Gpu,
}

// SAFETY: a context handle may be used from any thread; the driver locks.
unsafe impl Send for PrimaryContext {}
// SAFETY: as above.
unsafe impl Sync for PrimaryContext {}

impl PrimaryContext {
    /// Retains the context; the first to do so in the process makes it.
    pub(super) fn retain(gpu: Gpu) -> DriverResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, gpu.0) }.to_result()?;
        Ok(Self { raw, gpu })
    }

    pub(super) fn as_raw(&self) -> sys::CUcontext {
        self.raw
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained once, so released once.
        let release = || unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.gpu.0) }.to_result();
        // What fails may pass; there is nobody to tell of a failure that stays.
        let _ = release().or_else(|_| release());
    }
}
