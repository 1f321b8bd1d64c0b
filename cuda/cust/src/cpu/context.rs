//! The current context of each thread, and the limits that a program can change and read back.
//!
//! On the CPU a context has no contents. It exists so that driver calls without a current context
//! fail, as they do on a GPU.

use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cust_raw::driver_sys::{CUcontext, CUdevice, CUresult};

use super::memory::code;

thread_local! {
    /// The current context of this thread.
    static CURRENT: Cell<CUcontext> = const { Cell::new(ptr::null_mut()) };
}

/// The limits in the order of `ResourceLimit`: stack size of a thread, `printf` buffer, `malloc`
/// heap, depth and number of device-side launches, and granularity of fetches into L2. The values
/// are an H100's defaults, except for the stack size.
static LIMITS: Mutex<[usize; 6]> = Mutex::new([256 << 10, 1 << 20, 8 << 20, 2, 2048, 64]);

/// Checks that a context is current on this thread.
pub(super) fn check() -> Result<(), CUresult> {
    match CURRENT.get().is_null() {
        true => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        false => Ok(()),
    }
}

pub(crate) unsafe fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    _device: CUdevice,
) -> CUresult {
    // The address of a static is an address that no other object has.
    static PRIMARY: u8 = 0;
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *context = ptr::from_ref(&PRIMARY).cast_mut().cast() };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDevicePrimaryCtxRelease_v2(_device: CUdevice) -> CUresult {
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDevicePrimaryCtxSetFlags_v2(_device: CUdevice, _flags: c_uint) -> CUresult {
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    CURRENT.set(context);
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    code(check().map(|()| unsafe { *device = 0 }))
}

pub(crate) unsafe fn cuCtxSynchronize() -> CUresult {
    code(check())
}

pub(crate) unsafe fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> CUresult {
    // SAFETY: the caller passes valid addresses for the results.
    code(check().map(|()| unsafe { (*least, *greatest) = (0, -5) }))
}

/// Passes the limit that the driver identifies by the number `which` to `body`.
fn limit(which: c_uint, body: impl FnOnce(&mut usize)) -> CUresult {
    code(check().and_then(|()| {
        let mut limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = limits.get_mut(which as usize);
        limit.map(body).ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)
    }))
}

pub(crate) unsafe fn cuCtxGetLimit(value: *mut usize, which: c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    limit(which, |limit| unsafe { *value = *limit })
}

pub(crate) unsafe fn cuCtxSetLimit(which: c_uint, value: usize) -> CUresult {
    limit(which, |limit| *limit = value)
}
