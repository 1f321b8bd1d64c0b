//! Contexts of old: one a user, on a stack a thread. New programs take the primary context.

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
    /// Makes a context and pushes it on this thread's stack.
    ///
    /// # Errors
    /// What the driver says.
    pub fn create_and_push(flags: ContextFlags, device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { driver::cuCtxCreate_v2(&raw mut inner, flags.bits(), device.as_raw()) }?;
        Ok(Self { inner })
    }

    /// The version of the API that the context was made with.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// A handle that does not keep the context alive.
    #[must_use]
    pub fn get_unowned(&self) -> UnownedContext {
        UnownedContext { inner: self.inner }
    }

    /// Destroys the context; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the context.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(context: Self) -> DropResult<Self> {
        // SAFETY: made here and destroyed once.
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
        // SAFETY: made here and destroyed once. Nobody is there to tell of a failure.
        let _ = unsafe { driver::cuCtxDestroy_v2(self.inner) };
    }
}

/// A context that somebody else keeps alive. If nobody does, what is done in it fails.
#[derive(Clone, Debug)]
pub struct UnownedContext {
    inner: sys::CUcontext,
}

// SAFETY: a context handle may be used from any thread; the driver locks.
unsafe impl Send for UnownedContext {}
// SAFETY: as above.
unsafe impl Sync for UnownedContext {}

impl Sealed for UnownedContext {}
impl ContextHandle for UnownedContext {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
}

impl UnownedContext {
    /// A context that another library made, such as a C library or `cudarc`.
    ///
    /// # Safety
    /// The context lives as long as anything uses this handle.
    #[must_use]
    pub unsafe fn from_raw(inner: sys::CUcontext) -> Self {
        Self { inner }
    }

    /// The version of the API that the context was made with.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }
}

/// The contexts of this thread, the current one on top.
#[derive(Debug)]
pub struct ContextStack;

impl ContextStack {
    /// Takes the current context off the stack.
    ///
    /// # Errors
    /// An empty stack, or what the driver says.
    pub fn pop() -> CudaResult<UnownedContext> {
        let mut inner = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { driver::cuCtxPopCurrent_v2(&raw mut inner) }?;
        Ok(UnownedContext { inner })
    }

    /// Puts a context on the stack and makes it current.
    ///
    /// # Errors
    /// What the driver says.
    pub fn push<C: ContextHandle>(context: &C) -> CudaResult<()> {
        // SAFETY: the context is alive while it is borrowed; later, calls in it fail.
        unsafe { driver::cuCtxPushCurrent_v2(context.get_inner()) }
    }
}

/// The priorities that streams can have: greater ones are smaller numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamPriorityRange {
    /// The lowest priority.
    pub least: i32,
    /// The highest priority.
    pub greatest: i32,
}

/// What is asked of whichever context is current on this thread.
#[derive(Debug)]
pub struct CurrentContext;

macro_rules! same {
    ($($name:ident($($argument:ident: $type:ty)?) -> $result:ty;)*) => {$(
        #[doc = concat!("As [`", stringify!($name), "`](super::CurrentContext::", stringify!($name), ").")]
        ///
        /// # Errors
        /// No current context, or what the driver says.
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

    /// As [`set_resource_limit`](super::CurrentContext::set_resource_limit).
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        Current::set_resource_limit(resource, limit)
    }

    /// The context that is current; a null one if none is.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_current() -> CudaResult<UnownedContext> {
        let mut inner = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetCurrent(&raw mut inner) }?;
        Ok(UnownedContext { inner })
    }

    /// Makes `context` current on this thread.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_current<C: ContextHandle>(context: &C) -> CudaResult<()> {
        Current::set_current(context)
    }
}
