//! Streams and events of the CPU, where submitted work is done when the call returns.

use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cust_raw::driver_sys::{CU_EVENT_DISABLE_TIMING, CUevent, CUresult, CUstream};

use super::context;
use super::memory::code;

/// An event, which stores the time when it was last recorded.
struct Event {
    takes_time: bool,
    recorded: Mutex<Option<Instant>>,
}

/// Returns the event that a handle refers to.
///
/// # Safety
/// The handle must be null or belong to a live event.
unsafe fn event<'a>(handle: CUevent) -> Result<&'a Event, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { handle.cast::<Event>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// Creates a stream, which stores only its priority.
pub(crate) unsafe fn cuStreamCreateWithPriority(
    to: *mut CUstream,
    _flags: c_uint,
    priority: c_int,
) -> CUresult {
    code(context::check().map(|()| {
        let made = Box::into_raw(Box::new(priority));
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *to = made.cast() };
    }))
}

pub(crate) unsafe fn cuStreamDestroy_v2(handle: CUstream) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    // SAFETY: the handle comes from `cuStreamCreateWithPriority`, and the caller guarantees that it
    // is destroyed only once.
    drop(unsafe { Box::from_raw(handle.cast::<c_int>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuStreamGetPriority(handle: CUstream, priority: *mut c_int) -> CUresult {
    // SAFETY: the caller passes a live stream and a valid address for the result.
    unsafe { *priority = handle.cast::<c_int>().as_ref().copied().unwrap_or(0) };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuStreamSynchronize(_handle: CUstream) -> CUresult {
    code(context::check())
}

pub(crate) unsafe fn cuStreamWaitEvent(
    _handle: CUstream,
    waited: CUevent,
    _flags: c_uint,
) -> CUresult {
    // SAFETY: the caller passes a live event.
    code(unsafe { event(waited) }.map(drop))
}

pub(crate) unsafe fn cuEventCreate(to: *mut CUevent, flags: c_uint) -> CUresult {
    code(context::check().map(|()| {
        let takes_time = flags & CU_EVENT_DISABLE_TIMING == 0;
        let made = Box::into_raw(Box::new(Event { takes_time, recorded: Mutex::default() }));
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *to = made.cast() };
    }))
}

pub(crate) unsafe fn cuEventDestroy_v2(handle: CUevent) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    // SAFETY: the handle comes from `cuEventCreate`, and the caller guarantees that it is destroyed
    // only once.
    drop(unsafe { Box::from_raw(handle.cast::<Event>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuEventRecord(handle: CUevent, _stream: CUstream) -> CUresult {
    // SAFETY: the caller passes a live event.
    code(unsafe { event(handle) }.map(|event| {
        *event.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }))
}

pub(crate) unsafe fn cuEventQuery(handle: CUevent) -> CUresult {
    // SAFETY: the caller passes a live event.
    code(unsafe { event(handle) }.map(drop))
}

pub(crate) unsafe fn cuEventSynchronize(handle: CUevent) -> CUresult {
    // SAFETY: the caller passes a live event.
    code(unsafe { event(handle) }.map(drop))
}

pub(crate) unsafe fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> CUresult {
    // SAFETY: the caller passes live events.
    let time = |handle| unsafe {
        let event = event(handle)?;
        let recorded = *event.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.filter(|_| event.takes_time).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    };
    code(time(start).and_then(|start| {
        let seconds = match time(end)?.checked_duration_since(start) {
            Some(after) => after.as_secs_f32(),
            None => -start.duration_since(time(end)?).as_secs_f32(),
        };
        // SAFETY: the caller passes a valid address for the result.
        unsafe { ptr::write(milliseconds, seconds * 1e3) };
        Ok(())
    }))
}
