//! Making a context current on a thread, and the thread's own again afterwards.

use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::error::DriverResult;

use super::error::is_fatal;

/// How often is tried what must be done.
const ATTEMPTS: u32 = 3;

/// A context is current on this thread for as long as this lives; then the one before is again, since
/// the thread may be another library's.
pub(super) struct Current {
    previous: sys::CUcontext,
}

impl Current {
    fn keep() -> DriverResult<Self> {
        let mut previous = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { sys::cuCtxGetCurrent(&raw mut previous) }.to_result()?;
        Ok(Self { previous })
    }

    /// Makes `context` current, which must be alive.
    pub(super) fn enter(context: sys::CUcontext) -> DriverResult<Self> {
        let current = Self::keep()?;
        // SAFETY: the context is alive.
        unsafe { sys::cuCtxSetCurrent(context) }.to_result()?;
        Ok(current)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: it was current on this thread before, or there was none.
        let put_back = || unsafe { sys::cuCtxSetCurrent(self.previous) }.to_result();
        // Once more, or the other library would go on in our context.
        let _ = put_back().or_else(|_| put_back());
    }
}

/// Tries what has to be done, waiting and giving back: an error that is not the end is not the last word.
pub fn insist<T, E>(
    is_the_end: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut result = attempt();
    for _ in 1..ATTEMPTS {
        match &result {
            Err(error) if !is_the_end(error) => result = attempt(),
            _ => break,
        }
    }
    result
}

/// As [`insist`], with `context` current, which must be alive.
pub(super) fn insist_in(
    context: sys::CUcontext,
    mut body: impl FnMut() -> sys::CUresult,
) -> DriverResult {
    let attempt = || Current::enter(context).and_then(|_current| body().to_result());
    insist(|error| is_fatal(*error), attempt)
}
