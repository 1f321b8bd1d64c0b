//! Making a context current on a thread, and the thread's own again afterwards.

use std::ptr;

use cust::sys;

/// A context is current on this thread for as long as this lives; then the one before is again, since
/// the thread may be another library's.
pub(super) struct Current {
    previous: sys::CUcontext,
}

impl Current {
    /// The thread's context stays to be restored, whatever the body makes current.
    pub(super) fn keep() -> Result<Self, sys::CUresult> {
        let mut previous = ptr::null_mut();
        // SAFETY: the result is written.
        match unsafe { sys::cuCtxGetCurrent(&raw mut previous) } {
            sys::CUresult::CUDA_SUCCESS => Ok(Self { previous }),
            error => Err(error),
        }
    }

    /// Makes `context` current, which must be alive.
    pub(super) fn enter(context: sys::CUcontext) -> Result<Self, sys::CUresult> {
        let current = Self::keep()?;
        // SAFETY: the context is alive.
        match unsafe { sys::cuCtxSetCurrent(context) } {
            sys::CUresult::CUDA_SUCCESS => Ok(current),
            error => Err(error),
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: it was current on this thread before, or there was none.
        unsafe { sys::cuCtxSetCurrent(self.previous) };
    }
}
