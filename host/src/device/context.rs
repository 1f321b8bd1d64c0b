//! Making a context current on a thread, and the thread's own again afterwards.

use std::ptr;

use cust::error::CudaResult;
use cust::sys;

/// A context is current on this thread for as long as this lives; then the one before is again, since
/// the thread may be another library's.
pub(super) struct Current {
    previous: sys::CUcontext,
}

impl Current {
    fn keep() -> CudaResult<Self> {
        let mut previous = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { sys::cuCtxGetCurrent(&raw mut previous) }.to_result()?;
        Ok(Self { previous })
    }

    /// Makes `context` current, which must be alive.
    pub(super) fn enter(context: sys::CUcontext) -> CudaResult<Self> {
        let current = Self::keep()?;
        // SAFETY: the context is alive.
        unsafe { sys::cuCtxSetCurrent(context) }.to_result()?;
        Ok(current)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: it was current on this thread before, or there was none.
        let _ = unsafe { sys::cuCtxSetCurrent(self.previous) };
    }
}
