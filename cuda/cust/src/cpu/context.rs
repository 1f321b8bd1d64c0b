//! The current context of each thread, and the context settings that a program can change and read
//! back.
//!
//! On the CPU a context has no contents. It exists so that driver calls without a current context
//! fail, as they do on a GPU.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::Mutex;
use std::sync::PoisonError;

use cust_raw::driver_sys::{CUcontext, CUdevice, CUresult};

use super::memory::code;

thread_local! {
    /// The context stack of this thread. The last element is the current context.
    static STACK: RefCell<Vec<CUcontext>> = const { RefCell::new(Vec::new()) };
}

/// The settings that a program can change and read back. All contexts share them.
struct Settings {
    flags: c_uint,
    cache: c_uint,
    shared: c_uint,
    limits: [usize; 6],
}

static SETTINGS: Mutex<Settings> = Mutex::new(Settings {
    flags: 0,
    cache: 0,
    shared: 0,
    // In the order of `ResourceLimit`: stack size of a thread, `printf` buffer, `malloc` heap,
    // depth and number of device-side launches, and granularity of fetches into L2. The values are
    // an H100's defaults, except for the stack size.
    limits: [256 << 10, 1 << 20, 8 << 20, 2, 2048, 64],
});

/// Returns the handle of the shared primary context: an address that no other context has.
fn primary() -> CUcontext {
    static PLACE: u8 = 0;
    ptr::from_ref(&PLACE).cast_mut().cast()
}

/// Checks that a context is current on this thread.
pub(super) fn check() -> Result<(), CUresult> {
    STACK.with_borrow(|stack| match stack.last() {
        Some(context) if !context.is_null() => Ok(()),
        _ => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
    })
}

/// Writes `value` to the caller's address `to` and returns success.
///
/// # Safety
/// `to` must be valid for a write.
unsafe fn give<T>(to: *mut T, value: T) -> CUresult {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { to.write(value) };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    _device: CUdevice,
) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { give(context, primary()) }
}

pub(crate) unsafe fn cuDevicePrimaryCtxRelease_v2(_device: CUdevice) -> CUresult {
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDevicePrimaryCtxSetFlags_v2(_device: CUdevice, flags: c_uint) -> CUresult {
    settings(|settings| settings.flags = flags);
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDevicePrimaryCtxReset_v2(_device: CUdevice) -> CUresult {
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxCreate_v2(
    context: *mut CUcontext,
    _flags: c_uint,
    _device: CUdevice,
) -> CUresult {
    // Each context gets its own address so that handles differ.
    let made: CUcontext = Box::into_raw(Box::new(0_u8)).cast();
    STACK.with_borrow_mut(|stack| stack.push(made));
    // SAFETY: the caller passes a valid address for the result.
    unsafe { give(context, made) }
}

pub(crate) unsafe fn cuCtxDestroy_v2(context: CUcontext) -> CUresult {
    if context.is_null() || context == primary() {
        return CUresult::CUDA_ERROR_INVALID_CONTEXT;
    }
    STACK.with_borrow_mut(|stack| stack.retain(|other| *other != context));
    // SAFETY: the handle comes from `cuCtxCreate_v2`, and the caller guarantees that it is
    // destroyed only once.
    drop(unsafe { Box::from_raw(context.cast::<u8>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxPushCurrent_v2(context: CUcontext) -> CUresult {
    STACK.with_borrow_mut(|stack| stack.push(context));
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxPopCurrent_v2(context: *mut CUcontext) -> CUresult {
    match STACK.with_borrow_mut(Vec::pop) {
        // SAFETY: the caller passes a valid address for the result.
        Some(popped) => unsafe { give(context, popped) },
        None => CUresult::CUDA_ERROR_INVALID_CONTEXT,
    }
}

pub(crate) unsafe fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult {
    let current = STACK.with_borrow(|stack| stack.last().copied()).unwrap_or(ptr::null_mut());
    // SAFETY: the caller passes a valid address for the result.
    unsafe { give(context, current) }
}

pub(crate) unsafe fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        stack.push(context);
    });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuCtxGetApiVersion(_context: CUcontext, version: *mut c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { give(version, 3020) }
}

pub(crate) unsafe fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { get(device, |_| Ok(0)) }
}

pub(crate) unsafe fn cuCtxSynchronize() -> CUresult {
    code(check())
}

pub(crate) unsafe fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe {
        match get(least, |_| Ok(0)) {
            CUresult::CUDA_SUCCESS => give(greatest, -5),
            error => error,
        }
    }
}

fn settings<R>(body: impl FnOnce(&mut Settings) -> R) -> R {
    body(&mut SETTINGS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs `body` on the settings if a context is current, and otherwise returns an error.
fn current<R>(body: impl FnOnce(&mut Settings) -> Result<R, CUresult>) -> Result<R, CUresult> {
    check()?;
    settings(body)
}

/// Writes to `to` the value that `body` reads from the settings. Returns an error if no context is
/// current.
///
/// # Safety
/// `to` must be valid for a write.
unsafe fn get<T>(to: *mut T, body: impl FnOnce(&mut Settings) -> Result<T, CUresult>) -> CUresult {
    match current(body) {
        // SAFETY: the caller upholds this function's safety contract.
        Ok(value) => unsafe { give(to, value) },
        Err(error) => error,
    }
}

/// Changes the settings with `body`. Returns an error if no context is current.
fn set(body: impl FnOnce(&mut Settings)) -> CUresult {
    code(current(|settings| {
        body(settings);
        Ok(())
    }))
}

/// Returns a reference to the limit that the driver identifies by the number `limit`.
fn limit(settings: &mut Settings, limit: c_uint) -> Result<&mut usize, CUresult> {
    settings.limits.get_mut(limit as usize).ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)
}

pub(crate) unsafe fn cuCtxGetFlags(flags: *mut c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { get(flags, |settings| Ok(settings.flags)) }
}

pub(crate) unsafe fn cuCtxGetLimit(value: *mut usize, which: c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { get(value, |settings| limit(settings, which).copied()) }
}

pub(crate) unsafe fn cuCtxSetLimit(which: c_uint, value: usize) -> CUresult {
    code(current(|settings| limit(settings, which).map(|place| *place = value)))
}

pub(crate) unsafe fn cuCtxGetCacheConfig(config: *mut c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { get(config, |settings| Ok(settings.cache)) }
}

pub(crate) unsafe fn cuCtxSetCacheConfig(config: c_uint) -> CUresult {
    set(|settings| settings.cache = config)
}

pub(crate) unsafe fn cuCtxGetSharedMemConfig(config: *mut c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { get(config, |settings| Ok(settings.shared)) }
}

pub(crate) unsafe fn cuCtxSetSharedMemConfig(config: c_uint) -> CUresult {
    set(|settings| settings.shared = config)
}
