//! The owners of devices and contexts, which both interfaces build on.

use std::ffi::CStr;
use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::error::DriverResult;

use crate::driver::Backend;

/// A device of a backend, identified by the driver's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gpu {
    pub(crate) device: sys::CUdevice,
    backend: Backend,
}

impl Gpu {
    pub(crate) fn count(backend: Backend) -> DriverResult<u32> {
        let mut count = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { backend.cuDeviceGetCount(&raw mut count) }?;
        Ok(count.unsigned_abs())
    }

    pub(crate) fn get(backend: Backend, ordinal: u32) -> DriverResult<Self> {
        let mut device = 0;
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        // SAFETY: the driver writes the result to a local variable.
        unsafe { backend.cuDeviceGet(&raw mut device, ordinal) }?;
        Ok(Self { device, backend })
    }

    /// Returns the device of the context that is current on this thread.
    pub(crate) fn current(backend: Backend) -> DriverResult<Self> {
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { backend.cuCtxGetDevice(&raw mut device) }?;
        Ok(Self { device, backend })
    }

    pub(crate) fn name(self) -> DriverResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, including a terminating zero.
        unsafe { self.backend.cuDeviceGetName(name.as_mut_ptr().cast(), room, self.device) }?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub(crate) fn memory(self) -> DriverResult<usize> {
        let mut bytes = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { self.backend.cuDeviceTotalMem_v2(&raw mut bytes, self.device) }?;
        Ok(bytes)
    }

    pub(crate) fn attribute(self, which: sys::CUdevice_attribute) -> DriverResult<i32> {
        let mut value = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { self.backend.cuDeviceGetAttribute(&raw mut value, which, self.device) }?;
        Ok(value)
    }
}

/// A context: either a primary context, which this value keeps alive, or a context owned by other
/// code. Creating a `Context` does not make it current on the thread.
#[derive(Debug)]
pub(crate) struct Context {
    raw: sys::CUcontext,
    /// The device whose primary context is released on drop; `None` for a context owned by other
    /// code.
    retained: Option<Gpu>,
}

// SAFETY: a context handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Context {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the device's primary context. The driver creates that context on the first call in
    /// the process.
    pub(crate) fn retain(gpu: Gpu) -> DriverResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { gpu.backend.cuDevicePrimaryCtxRetain(&raw mut raw, gpu.device) }?;
        Ok(Self { raw, retained: Some(gpu) })
    }

    /// Wraps a context owned by other code.
    ///
    /// # Safety
    /// The context must not be destroyed before the result is dropped.
    pub(crate) unsafe fn from_raw(raw: sys::CUcontext) -> Self {
        Self { raw, retained: None }
    }

    pub(crate) fn as_raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Releases a primary context.
    ///
    /// # Safety
    /// After a successful call, the value must not be used or dropped.
    pub(crate) unsafe fn release(&self) -> DriverResult {
        let Some(gpu) = self.retained else { return Ok(()) };
        // SAFETY: the context was retained once and is released only once.
        unsafe { gpu.backend.cuDevicePrimaryCtxRelease_v2(gpu.device) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing uses the value afterwards.
        let release = || unsafe { self.release() };
        // A failure may be temporary, so retry once. Drop cannot report a persistent failure.
        let _ = release().or_else(|_| release());
    }
}
