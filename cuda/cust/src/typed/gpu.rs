//! Wrappers of the driver functions that query GPUs and retain their primary contexts.

use std::ffi::CStr;
use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::error::DriverResult;

/// A GPU, identified by the driver's device handle.
#[derive(Clone, Copy)]
pub(super) struct Gpu(sys::CUdevice);

impl Gpu {
    pub(super) fn count() -> DriverResult<u32> {
        let mut count = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGetCount(&raw mut count) }.to_result()?;
        Ok(count.unsigned_abs())
    }

    pub(super) fn get(ordinal: u32) -> DriverResult<Self> {
        let mut device = 0;
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGet(&raw mut device, ordinal) }.to_result()?;
        Ok(Self(device))
    }

    /// Returns the GPU of the context that is current on this thread, and its ordinal.
    pub(super) fn current() -> DriverResult<(u32, Self)> {
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuCtxGetDevice(&raw mut device) }.to_result()?;
        for ordinal in 0..Self::count()? {
            if Self::get(ordinal)?.0 == device {
                return Ok((ordinal, Self(device)));
            }
        }
        Err(sys::CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    pub(super) fn name(self) -> DriverResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, including a terminating zero.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), room, self.0) }.to_result()?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub(super) fn memory(self) -> DriverResult<usize> {
        let mut bytes = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0) }.to_result()?;
        Ok(bytes)
    }

    pub(super) fn attribute(self, which: sys::CUdevice_attribute) -> DriverResult<u32> {
        let mut value = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, self.0) }.to_result()?;
        Ok(value as u32)
    }
}

/// A GPU context: either the primary context, which this value keeps alive, or a context owned by
/// other code. Creating a `Context` does not make it current on the thread.
pub(super) struct Context {
    raw: sys::CUcontext,
    /// The GPU whose primary context is released on drop; `None` for a context owned by other code.
    retained: Option<Gpu>,
}

// SAFETY: a context handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Context {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the GPU's primary context. The driver creates that context on the first call in the
    /// process.
    pub(super) fn retain(gpu: Gpu) -> DriverResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, gpu.0) }.to_result()?;
        Ok(Self { raw, retained: Some(gpu) })
    }

    /// Wraps a context owned by other code.
    ///
    /// # Safety
    /// The context must not be destroyed before the result is dropped.
    pub(super) unsafe fn from_raw(raw: sys::CUcontext) -> Self {
        Self { raw, retained: None }
    }

    pub(super) fn as_raw(&self) -> sys::CUcontext {
        self.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let Some(gpu) = self.retained else { return };
        // SAFETY: the context was retained once and is released only once.
        let release = || unsafe { sys::cuDevicePrimaryCtxRelease_v2(gpu.0) }.to_result();
        // A failure may be temporary, so retry once. Drop cannot report a persistent failure.
        let _ = release().or_else(|_| release());
    }
}
