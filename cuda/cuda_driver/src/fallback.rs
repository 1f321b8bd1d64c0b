//! What a call does where the driver, or this function of it, is missing.
//!
//! The fallbacks take no parameters although they are called with some: in both C conventions the
//! caller removes its own arguments, so a function that reads none of them may have any.

use std::ffi::{CStr, c_char, c_int};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
const NO_DEVICE: c_int = 100;
const NOT_FOUND: c_int = 500;

/// What `name` does where no driver could be loaded.
pub(crate) fn missing_driver(name: &str) -> *mut () {
    error_text(name).unwrap_or(no_device as *mut ())
}

/// What `name` does where the driver has no such function.
pub(crate) fn missing_function(name: &str) -> *mut () {
    error_text(name).unwrap_or(not_found as *mut ())
}

fn error_text(name: &str) -> Option<*mut ()> {
    match name {
        "cuGetErrorName" => Some(error_name as *mut ()),
        "cuGetErrorString" => Some(error_string as *mut ()),
        _ => None,
    }
}

extern "C" fn no_device() -> c_int {
    NO_DEVICE
}

extern "C" fn not_found() -> c_int {
    NOT_FOUND
}

/// `cuGetErrorName`.
unsafe extern "C" fn error_name(code: c_int, text: *mut *const c_char) -> c_int {
    let name = match code {
        SUCCESS => c"CUDA_SUCCESS",
        NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        _ => c"CUDA_ERROR_WITHOUT_DRIVER",
    };
    // SAFETY: `text` is what the caller gave to `cuGetErrorName`, null or writable.
    unsafe { give(name, text) }
}

/// `cuGetErrorString`.
unsafe extern "C" fn error_string(code: c_int, text: *mut *const c_char) -> c_int {
    let description = match code {
        SUCCESS => c"no error",
        NO_DEVICE => c"no CUDA-capable device is detected (no CUDA driver is loaded)",
        NOT_FOUND => c"the CUDA driver has no such function",
        _ => c"an error that cannot be described without a CUDA driver",
    };
    // SAFETY: `text` is what the caller gave to `cuGetErrorString`, null or writable.
    unsafe { give(description, text) }
}

/// Writes `value` to `*text`.
///
/// # Safety
/// - `text` is null or valid for writing one pointer.
unsafe fn give(value: &'static CStr, text: *mut *const c_char) -> c_int {
    if text.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, so by contract valid for one write.
    unsafe { text.write(value.as_ptr()) };
    SUCCESS
}
