//! The legacy context API: each library creates its own context, and each thread has a stack of
//! contexts. New programs should use the primary context, a [`super::Context`].
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::context::ContextFlags;
//! use cust::context::legacy::{Context, ContextStack};
//! use cust::device::Device;
//!
//! cust::init(cust::CudaFlags::empty())?;
//! let context = Context::create_and_push(ContextFlags::SCHED_AUTO, Device::get_device(0)?)?;
//! let popped = ContextStack::pop()?;
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::mem;
use std::ptr;

use cust_raw::driver_sys as sys;

pub use super::{CacheConfig, ContextFlags, ContextHandle, ResourceLimit, SharedMemoryConfig};

use super::{CurrentContext as Current, api_version};
use crate::CudaApiVersion;
use crate::device::Device;
use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::private::Sealed;

/// A context that is not the device's primary one.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{ContextFlags, ContextHandle};
/// use cust::context::legacy::{Context, CurrentContext};
/// use cust::device::Device;
///
/// cust::init(cust::CudaFlags::empty())?;
/// let context = Context::create_and_push(ContextFlags::SCHED_AUTO, Device::get_device(0)?)?;
/// assert_eq!(CurrentContext::get_current()?.get_inner(), context.get_inner());
/// println!("{:?}", context.get_api_version()?);
/// Context::drop(context).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Context {
    inner: sys::CUcontext,
}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
}

impl Context {
    /// Creates a context and pushes it on this thread's stack.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn create_and_push(flags: ContextFlags, device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxCreate_v2(&raw mut inner, flags.bits(), device.as_raw()) }?;
        Ok(Self { inner })
    }

    /// Returns the API version that the context was created with.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Returns a handle that does not keep the context alive.
    #[must_use]
    pub fn get_unowned(&self) -> UnownedContext {
        UnownedContext { inner: self.inner }
    }

    /// Destroys the context. Unlike `Drop`, this function reports a failure.
    ///
    /// # Errors
    /// Returns the driver's error together with the context.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(context: Self) -> DropResult<Self> {
        // SAFETY: the handle is alive and is destroyed only once.
        match unsafe { driver::cuCtxDestroy_v2(context.inner) } {
            Ok(()) => {
                mem::forget(context);
                Ok(())
            }
            Err(error) => Err((error, context)),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
        let _ = unsafe { driver::cuCtxDestroy_v2(self.inner) };
    }
}

/// A handle of a context that other code owns. After the context is destroyed, driver calls that
/// use the handle fail.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::ContextHandle;
/// use cust::context::legacy::{ContextStack, UnownedContext};
///
/// let context = cust::quick_init()?;
/// // SAFETY: `context` lives longer than the handle.
/// let handle = unsafe { UnownedContext::from_raw(context.as_raw()) };
/// println!("{:?}", handle.get_api_version()?);
/// ContextStack::push(&handle)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnownedContext {
    inner: sys::CUcontext,
}

// SAFETY: a context handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for UnownedContext {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for UnownedContext {}

impl Sealed for UnownedContext {}
impl ContextHandle for UnownedContext {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
}

impl UnownedContext {
    /// Wraps a context that another library created, such as a C library or `cudarc`.
    ///
    /// # Safety
    /// The context must live as long as code uses this handle.
    #[must_use]
    pub unsafe fn from_raw(inner: sys::CUcontext) -> Self {
        Self { inner }
    }

    /// Returns the API version that the context was created with.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }
}

/// The context stack of this thread, with the current context on top.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{ContextFlags, ContextHandle};
/// use cust::context::legacy::{Context, ContextStack, CurrentContext};
/// use cust::device::Device;
///
/// let primary = cust::quick_init()?;
/// let own = Context::create_and_push(ContextFlags::SCHED_AUTO, Device::get_device(0)?)?;
/// ContextStack::pop()?;
/// assert_eq!(CurrentContext::get_current()?.get_inner(), primary.get_inner());
/// ContextStack::push(&own.get_unowned())?;
/// assert_eq!(CurrentContext::get_current()?.get_inner(), own.get_inner());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct ContextStack;

impl ContextStack {
    /// Pops the current context from the stack.
    ///
    /// # Errors
    /// Returns an error if the stack is empty, or the driver's error.
    pub fn pop() -> CudaResult<UnownedContext> {
        let mut inner = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxPopCurrent_v2(&raw mut inner) }?;
        Ok(UnownedContext { inner })
    }

    /// Pushes a context on the stack and makes it current.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn push<C: ContextHandle>(context: &C) -> CudaResult<()> {
        // SAFETY: the borrow keeps an owned context alive during this call. If the context is
        // already destroyed, the driver only returns an error.
        unsafe { driver::cuCtxPushCurrent_v2(context.get_inner()) }
    }
}

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

/// Functions for the context that is current on this thread.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::ResourceLimit;
/// use cust::context::legacy::CurrentContext;
///
/// let context = cust::quick_init()?;
/// CurrentContext::set_current(&context)?;
/// CurrentContext::set_resource_limit(ResourceLimit::StackSize, 4096)?;
/// assert_eq!(CurrentContext::get_resource_limit(ResourceLimit::StackSize)?, 4096);
/// CurrentContext::set_cache_config(CurrentContext::get_cache_config()?)?;
/// println!("{:?}: {:?}", CurrentContext::get_device()?, CurrentContext::get_flags()?);
/// println!("{:?}", CurrentContext::get_stream_priority_range()?);
/// let config = CurrentContext::get_shared_memory_config()?;
/// CurrentContext::set_shared_memory_config(config)?;
/// CurrentContext::synchronize()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct CurrentContext;

macro_rules! same {
    ($($name:ident($($argument:ident: $type:ty)?) -> $result:ty;)*) => {$(
        #[doc = concat!("Calls [`", stringify!($name), "`](super::CurrentContext::", stringify!($name), ").")]
        ///
        /// # Errors
        /// Returns an error if no context is current, or the driver's error.
        pub fn $name($($argument: $type)?) -> CudaResult<$result> {
            Current::$name($($argument)?)
        }
    )*};
}

impl CurrentContext {
    same! {
        get_cache_config() -> CacheConfig;
        get_device() -> Device;
        get_flags() -> ContextFlags;
        get_resource_limit(resource: ResourceLimit) -> usize;
        get_shared_memory_config() -> SharedMemoryConfig;
        get_stream_priority_range() -> StreamPriorityRange;
        set_cache_config(config: CacheConfig) -> ();
        set_shared_memory_config(config: SharedMemoryConfig) -> ();
        synchronize() -> ();
    }

    /// Calls [`set_resource_limit`](super::CurrentContext::set_resource_limit).
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        Current::set_resource_limit(resource, limit)
    }

    /// Returns the current context, or a null handle if no context is current.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_current() -> CudaResult<UnownedContext> {
        let mut inner = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetCurrent(&raw mut inner) }?;
        Ok(UnownedContext { inner })
    }

    /// Makes `context` current on this thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_current<C: ContextHandle>(context: &C) -> CudaResult<()> {
        Current::set_current(context)
    }
}
