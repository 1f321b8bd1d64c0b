//! Contexts: a program's state on a device, and the current context of a thread.
//!
//! [`Context`] is a device's primary context, which all libraries of the process share.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::context::{Context, CurrentContext};
//! use cust::device::Device;
//!
//! cust::init(cust::CudaFlags::empty())?;
//! let device = Device::get_device(0)?;
//! let _context = Context::new(device)?;
//! assert_eq!(CurrentContext::get_device()?, device);
//! CurrentContext::synchronize()?;
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use cust_raw::driver_sys as sys;

use crate::device::Device;
use crate::driver::{self, backend};
use crate::error::{CudaResult, DropResult, destroyed};
use crate::gpu::{self, Gpu};

/// The range of stream priorities. A smaller number is a higher priority.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::CurrentContext;
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let priorities = CurrentContext::get_stream_priority_range()?;
/// let urgent = Stream::new(StreamFlags::DEFAULT, Some(priorities.greatest))?;
/// assert_eq!(urgent.get_priority()?, priorities.greatest);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamPriorityRange {
    /// The lowest priority.
    pub least: i32,
    /// The highest priority.
    pub greatest: i32,
}

/// A resource limit of a context.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{CurrentContext, ResourceLimit};
///
/// let _context = cust::quick_init()?;
/// CurrentContext::set_resource_limit(ResourceLimit::MallocHeapSize, 16 << 20)?;
/// assert_eq!(CurrentContext::get_resource_limit(ResourceLimit::MallocHeapSize)?, 16 << 20);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceLimit {
    /// The stack size of each device thread in bytes.
    StackSize = 0,
    /// The size of the device's `printf` buffer in bytes.
    PrintfFifoSize = 1,
    /// The size of the device's `malloc` heap in bytes.
    MallocHeapSize = 2,
    /// The maximum depth at which device-side launches may wait for each other.
    DeviceRuntimeSynchronizeDepth = 3,
    /// The maximum number of pending device-side launches.
    DeviceRuntimePendingLaunchCount = 4,
    /// The number of bytes that one fetch loads into the L2 cache: a hint from 0 to 128.
    MaxL2FetchGranularity = 5,
}

bitflags::bitflags! {
    /// The wait strategy of host threads, and the features of a context.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::context::ContextFlags;
    ///
    /// let context = cust::quick_init()?;
    /// context.set_flags(ContextFlags::SCHED_BLOCKING_SYNC)?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct ContextFlags: u32 {
        /// A host thread that waits for the device spins.
        const SCHED_SPIN = 0x01;
        /// A host thread that waits for the device yields its core to other threads.
        const SCHED_YIELD = 0x02;
        /// A host thread that waits for the device sleeps.
        const SCHED_BLOCKING_SYNC = 0x04;
        /// The driver chooses the wait strategy.
        const SCHED_AUTO = 0x00;
        /// Page-locked memory may be mapped into the device's address space.
        const MAP_HOST = 0x08;
        /// After a kernel that needed more local memory, the driver does not reduce the local
        /// memory again.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// A handle that keeps the primary context of a device alive.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{Context, ContextFlags};
/// use cust::device::Device;
///
/// cust::init(cust::CudaFlags::empty())?;
/// let device = Device::get_device(0)?;
/// let context = Context::new(device)?;
/// context.set_flags(ContextFlags::SCHED_AUTO)?;
///
/// // `retain` does not change the context of this thread.
/// let same = Context::retain(device)?;
/// assert_eq!(same.as_raw(), context.as_raw());
/// Context::drop(same).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Context {
    inner: gpu::Context,
    device: Device,
}

impl Clone for Context {
    /// Returns another handle of the same primary context.
    ///
    /// # Panics
    /// Panics if the driver fails to retain the context, which happens only after a fatal error.
    fn clone(&self) -> Self {
        match Self::retain(self.device) {
            Ok(context) => context,
            Err(error) => panic!("cannot retain a context: {error}"),
        }
    }
}

impl Context {
    /// Retains the primary context of `device` and makes it current on this thread. The first call
    /// in the process creates the context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(device: Device) -> CudaResult<Self> {
        let context = Self::retain(device)?;
        // SAFETY: `context` keeps the primary context alive.
        unsafe { driver::cuCtxSetCurrent(context.as_raw()) }?;
        Ok(context)
    }

    /// Retains the primary context of `device` without making it current.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn retain(device: Device) -> CudaResult<Self> {
        Ok(Self { inner: gpu::Context::retain(device.0)?, device })
    }

    /// Sets the wait strategy of host threads and the features of the primary context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: the call has no preconditions.
        unsafe { driver::cuDevicePrimaryCtxSetFlags_v2(self.device.as_raw(), flags.bits()) }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.inner.as_raw()
    }

    /// Releases the context. Unlike `Drop`, this function reports a failure.
    ///
    /// # Errors
    /// Returns the driver's error together with the context.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(context: Self) -> DropResult<Self> {
        // SAFETY: `destroyed` drops the context only if this call fails.
        let result = unsafe { context.inner.release() };
        destroyed(context, result.map_err(Into::into))
    }
}

/// Functions for the context that is current on this thread.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::CurrentContext;
/// use cust::device::Device;
///
/// let context = cust::quick_init()?;
/// // Each thread has its own current context.
/// std::thread::spawn(move || {
///     CurrentContext::set_current(&context)?;
///     assert_eq!(CurrentContext::get_device()?, Device::get_device(0)?);
///     let priorities = CurrentContext::get_stream_priority_range()?;
///     assert!(priorities.greatest <= priorities.least);
///     CurrentContext::synchronize()
/// })
/// .join()
/// .unwrap()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Returns the device of the current context.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_device() -> CudaResult<Device> {
        Ok(Device(Gpu::current(backend())?))
    }

    /// Returns the limit of the current context for `resource`, in the unit that [`ResourceLimit`]
    /// documents.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        let mut limit = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetLimit(&raw mut limit, resource as u32) }?;
        Ok(limit)
    }

    /// Returns the range of valid stream priorities.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange { least: 0, greatest: 0 };
        // SAFETY: the driver writes the results to local variables.
        unsafe {
            driver::cuCtxGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest)
        }?;
        Ok(range)
    }

    /// Sets the limit of the current context for `resource`, in the unit that [`ResourceLimit`]
    /// documents. The driver may round the limit.
    ///
    /// # Errors
    /// Returns an error if no context is current or the device does not support the limit, or the
    /// driver's error.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: the call has no preconditions.
        unsafe { driver::cuCtxSetLimit(resource as u32, limit) }
    }

    /// Makes `context` current on this thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        // SAFETY: the borrow keeps the context alive during this call.
        unsafe { driver::cuCtxSetCurrent(context.as_raw()) }
    }

    /// Waits until all work that was submitted in the current context is done.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error from that work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: the call has no preconditions.
        unsafe { driver::cuCtxSynchronize() }
    }
}
