//! Contexts: a program's state on a device, and the current context of a thread.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::context::{Context, CurrentContext, ResourceLimit};
//! use cust::device::Device;
//! use cust::memory::DeviceBuffer;
//!
//! let context = Context::new(Device::get_device(0)?)?;
//! CurrentContext::set_resource_limit(ResourceLimit::StackSize, 8192)?;
//! // Each thread has its own current context.
//! let other = std::thread::spawn(move || {
//!     assert!(DeviceBuffer::from_slice(&[1]).is_err());
//!     CurrentContext::set_current(&context)?;
//!     DeviceBuffer::from_slice(&[1])?.as_host_vec()
//! });
//! assert_eq!(other.join().unwrap()?, [1]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Weak};

use cust_raw::driver_sys as sys;

use crate::backend::{Backend, backend};
use crate::device::Device;
use crate::error::{CudaError, CudaResult};
use crate::typed::error::Check;
use crate::typed::{self, Kind};

thread_local! {
    /// The device of this thread's current context. Only the [`Context`] and what was created in it
    /// keep the device open.
    static CURRENT: RefCell<Weak<Kind>> = const { RefCell::new(Weak::new()) };
}

/// Returns the device of this thread's current context.
pub(crate) fn current() -> CudaResult<typed::Device> {
    let current = CURRENT.with_borrow(Weak::upgrade);
    current.map(typed::Device).ok_or(CudaError::InvalidContext)
}

/// A device's primary context, which all libraries of the process share.
#[derive(Clone, Debug)]
pub struct Context(typed::Device);

impl Context {
    /// Retains the primary context of `device` and makes it current on this thread. The first call
    /// in the process creates the context.
    pub fn new(device: Device) -> CudaResult<Self> {
        static CPU: LazyLock<typed::Device> = LazyLock::new(typed::Device::simulator);
        let context = match backend() {
            Backend::Cpu => Self(CPU.clone()),
            Backend::Gpu => Self(typed::Device::cuda_with(device.ordinal, &[])?),
        };
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Returns the driver's handle, or null on the CPU.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.0.as_context()
    }
}

/// A resource limit of a context, in bytes.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceLimit {
    /// The stack of each thread.
    StackSize = 0,
    /// The buffer of `println!` in kernels.
    PrintfFifoSize = 1,
    /// The heap of kernels.
    MallocHeapSize = 2,
}

/// Functions for the context that is current on this thread.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Sets a limit of the current context, which the driver may round. The CPU ignores it.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        const OP: &str = "setting a limit";
        let device = current()?;
        let Some(gpu) = device.gpu() else { return Ok(()) };
        // SAFETY: the call has no preconditions.
        Ok(gpu.enter(OP, || unsafe { sys::cuCtxSetLimit(resource as u32, limit) }.check(OP))?)
    }

    /// Makes `context` current on this thread.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        if context.0.gpu().is_some() {
            // SAFETY: the borrow keeps the context alive during this call.
            unsafe { sys::cuCtxSetCurrent(context.as_raw()) }.to_result()?;
        }
        CURRENT.set(Arc::downgrade(&context.0.0));
        Ok(())
    }
}
