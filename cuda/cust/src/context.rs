//! A device's primary context, which every user of the device in the process shares.

use std::ptr;

use crate::device::Device;
use crate::sys;
use cust_raw::error::DriverResult as CudaResult;

/// Keeps the primary context of a device alive. Makes it current on no thread.
#[derive(Debug)]
pub struct Context {
    raw: sys::CUcontext,
    device: Device,
}

// SAFETY: a context handle may be used from any thread; the driver locks.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the context; the first to do so in the process makes it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(device: Device) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, device.as_raw()) }.to_result()?;
        Ok(Self { raw, device })
    }

    /// As the driver knows it.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, so released once.
        let release =
            || unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) }.to_result();
        // What fails may pass; there is nobody to tell of a failure that stays.
        let _ = release().or_else(|_| release());
    }
}
