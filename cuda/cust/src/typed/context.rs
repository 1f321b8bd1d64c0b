//! Contexts: their owner, and the guard that makes one current on a thread.

use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::error::DriverResult;

use super::error::is_fatal;
use super::gpu::Gpu;

/// The number of times that [`insist`] tries an operation before it returns the error.
const ATTEMPTS: u32 = 3;

/// A context: either a primary context, which this value keeps alive, or a context owned by other
/// code. Creating a `Context` does not make it current on the thread.
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
    /// Retains the GPU's primary context. The driver creates it on the first call in the process.
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
        if let Some(gpu) = self.retained {
            // SAFETY: the context was retained once and is released only once.
            let release = || unsafe { sys::cuDevicePrimaryCtxRelease_v2(gpu.0) }.to_result();
            // A failure may be temporary, so retry once. Drop cannot report a persistent failure.
            let _ = release().or_else(|_| release());
        }
    }
}

/// A guard that keeps a context current on this thread. Drop restores the previous context, because
/// another library may use the same thread.
pub(super) struct Current {
    previous: sys::CUcontext,
}

impl Current {
    /// Makes `context` current on this thread. The context must exist.
    pub(super) fn enter(context: sys::CUcontext) -> DriverResult<Self> {
        let mut previous = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { sys::cuCtxGetCurrent(&raw mut previous) }.to_result()?;
        let current = Self { previous };
        // SAFETY: the caller guarantees that the context exists.
        unsafe { sys::cuCtxSetCurrent(context) }.to_result()?;
        Ok(current)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: `self.previous` is null or the context that was current on this thread before the
        // guard was created.
        let put_back = || unsafe { sys::cuCtxSetCurrent(self.previous) }.to_result();
        // Retries once, because other code on this thread would otherwise run in the wrong context.
        let _ = put_back().or_else(|_| put_back());
    }
}

/// Tries an operation that must succeed, such as a wait or a free, up to 3 times. Returns early if
/// `is_the_end` returns `true` for an error, which means that the error is fatal.
///
/// ```
/// use cust::typed::insist;
///
/// let mut attempts = 0;
/// let result: Result<(), &str> = insist(
///     |error| *error == "the device is lost",
///     || {
///         attempts += 1;
///         if attempts < 3 { Err("busy") } else { Ok(()) }
///     },
/// );
/// assert_eq!((result, attempts), (Ok(()), 3));
/// ```
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

/// Runs `body` with `context` current, and tries up to 3 times, as [`insist`] does. The context
/// must exist.
pub(super) fn insist_in(
    context: sys::CUcontext,
    mut body: impl FnMut() -> sys::CUresult,
) -> DriverResult {
    let attempt = || Current::enter(context).and_then(|_current| body().to_result());
    insist(|error| is_fatal(*error), attempt)
}
