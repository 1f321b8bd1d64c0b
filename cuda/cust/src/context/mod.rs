//! Contexts: a program's state on a device, and the current context of a thread.
//!
//! [`Context`] is a device's primary context, which all libraries of the process share. [`legacy`]
//! has the older API, in which each library creates its own context.
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

pub mod legacy;

use std::ffi::c_uint;
use std::mem;
use std::ptr;

use cust_raw::driver_sys as sys;

pub use legacy::StreamPriorityRange;

use crate::CudaApiVersion;
use crate::device::Device;
use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::private::Sealed;

/// A type that contains a driver context handle, whether or not it owns the context.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{ContextHandle, legacy::CurrentContext};
///
/// let context = cust::quick_init()?;
/// assert_eq!(CurrentContext::get_current()?.get_inner(), context.get_inner());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait ContextHandle: Sealed {
    /// Returns the driver's handle.
    fn get_inner(&self) -> sys::CUcontext;
}

/// The division of memory between the L1 cache and shared memory.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::context::{CacheConfig, CurrentContext};
///
/// let _context = cust::quick_init()?;
/// CurrentContext::set_cache_config(CacheConfig::PreferL1)?;
/// assert_eq!(CurrentContext::get_cache_config()?, CacheConfig::PreferL1);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheConfig {
    /// Lets the driver choose the division.
    PreferNone = 0,
    /// Prefers more shared memory over a larger L1 cache.
    PreferShared = 1,
    /// Prefers a larger L1 cache over more shared memory.
    PreferL1 = 2,
    /// Prefers an L1 cache and a shared memory of equal size.
    PreferEqual = 3,
}

impl CacheConfig {
    fn from_raw(raw: c_uint) -> Self {
        match raw {
            1 => Self::PreferShared,
            2 => Self::PreferL1,
            3 => Self::PreferEqual,
            _ => Self::PreferNone,
        }
    }
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

/// The width of a shared memory bank. Only GPUs of compute capability 3.x can change it.
///
/// ```no_run
/// use cust::context::{CurrentContext, SharedMemoryConfig};
///
/// let _context = cust::quick_init()?;
/// CurrentContext::set_shared_memory_config(SharedMemoryConfig::EightByteBankSize)?;
/// println!("{:?}", CurrentContext::get_shared_memory_config()?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedMemoryConfig {
    /// Banks have the device's default width.
    DefaultBankSize = 0,
    /// Banks are four bytes wide.
    FourByteBankSize = 1,
    /// Banks are eight bytes wide.
    EightByteBankSize = 2,
}

bitflags::bitflags! {
    /// The wait strategy of host threads, and the features of a context.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::context::{ContextFlags, CurrentContext};
    ///
    /// let context = cust::quick_init()?;
    /// context.set_flags(ContextFlags::SCHED_BLOCKING_SYNC)?;
    /// println!("{:?}", CurrentContext::get_flags()?);
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
/// println!("{:?}", context.get_api_version()?);
///
/// // `retain` does not change the context of this thread.
/// let same = Context::retain(device)?;
/// assert_eq!(same.as_raw(), context.as_raw());
/// Context::drop(same).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Context {
    inner: sys::CUcontext,
    device: Device,
}

// SAFETY: a context handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Context {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Context {}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
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
        unsafe { driver::cuCtxSetCurrent(context.inner) }?;
        Ok(context)
    }

    /// Retains the primary context of `device` without making it current.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn retain(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut inner, device.as_raw()) }?;
        Ok(Self { inner, device })
    }

    /// Destroys the primary context of `device` and everything in it, even if other code uses it.
    ///
    /// ```no_run
    /// use cust::context::Context;
    /// use cust::device::Device;
    ///
    /// cust::init(cust::CudaFlags::empty())?;
    /// // SAFETY: nothing uses the context afterwards.
    /// unsafe { Context::reset(&Device::get_device(0)?) }?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// Nothing in the process may use the context or its contents afterwards.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { driver::cuDevicePrimaryCtxReset_v2(device.as_raw()) }
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
        self.inner
    }

    /// Returns the API version that the context was created with.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Releases the context. Unlike `Drop`, this function reports a failure.
    ///
    /// # Errors
    /// Returns the driver's error together with the context.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(context: Self) -> DropResult<Self> {
        // SAFETY: the context was retained once and is released only once.
        match unsafe { driver::cuDevicePrimaryCtxRelease_v2(context.device.as_raw()) } {
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
        // SAFETY: the context was retained once and is released only once.
        let release = || unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
        // A failure may be temporary, so retry once. Drop cannot report a persistent failure.
        let _ = release().or_else(|_| release());
    }
}

/// Returns the API version that a context was created with.
pub(crate) fn api_version(context: sys::CUcontext) -> CudaResult<CudaApiVersion> {
    let mut version = 0;
    // SAFETY: the driver returns an error for a destroyed context, and writes the result to a local
    // variable.
    unsafe { driver::cuCtxGetApiVersion(context, &raw mut version) }?;
    Ok(CudaApiVersion::new(version as i32))
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
    /// Returns the division of memory between the L1 cache and shared memory.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_cache_config() -> CudaResult<CacheConfig> {
        let mut config = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetCacheConfig(&raw mut config) }?;
        Ok(CacheConfig::from_raw(config))
    }

    /// Returns the device of the current context.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_device() -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetDevice(&raw mut device) }?;
        Ok(Device::from_raw(device))
    }

    /// Returns the wait strategy of host threads and the features of the current context.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        let mut flags = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetFlags(&raw mut flags) }?;
        Ok(ContextFlags::from_bits_truncate(flags))
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

    /// Returns the width of a shared memory bank.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn get_shared_memory_config() -> CudaResult<SharedMemoryConfig> {
        let mut config = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuCtxGetSharedMemConfig(&raw mut config) }?;
        Ok(match config {
            1 => SharedMemoryConfig::FourByteBankSize,
            2 => SharedMemoryConfig::EightByteBankSize,
            _ => SharedMemoryConfig::DefaultBankSize,
        })
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

    /// Sets the preferred division of memory between the L1 cache and shared memory. The driver may
    /// ignore this preference.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn set_cache_config(config: CacheConfig) -> CudaResult<()> {
        // SAFETY: the call has no preconditions.
        unsafe { driver::cuCtxSetCacheConfig(config as u32) }
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

    /// Sets the width of a shared memory bank.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn set_shared_memory_config(config: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the call has no preconditions.
        unsafe { driver::cuCtxSetSharedMemConfig(config as u32) }
    }

    /// Makes `context` current on this thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_current<C: ContextHandle>(context: &C) -> CudaResult<()> {
        // SAFETY: the borrow keeps an owned context alive during this call. If the context is
        // already destroyed, the driver only returns an error.
        unsafe { driver::cuCtxSetCurrent(context.get_inner()) }
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
