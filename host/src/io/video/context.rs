//! The CUDA context of a device, made current for libraries that expect it.

use std::ptr;

use cust_raw::driver_sys::{self as sys, CUresult};

use crate::device::Device;

/// A guard that keeps the context of a GPU current on this thread. For the CPU, it does nothing.
pub(super) struct Entered {
    pushed: bool,
}

impl Entered {
    pub(super) fn new(device: &Device) -> Result<Self, CUresult> {
        let context = device.as_context();
        let pushed = !context.is_null();
        if pushed {
            // SAFETY: the context exists as long as the device.
            unsafe { sys::cuCtxPushCurrent_v2(context) }.to_result()?;
        }
        Ok(Self { pushed })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = ptr::null_mut();
            // SAFETY: `new` has pushed a context on this thread, and the result is a local variable.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
        }
    }
}
