//! Contexts: what a program keeps of a device, and which one is current on a thread.
//!
//! [`Context`] is a device's primary context, which every library of the process shares. The contexts
//! of old, one a user, are in [`legacy`].

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

/// A context, or something that stands for one.
pub trait ContextHandle: Sealed {
    /// The driver's handle.
    fn get_inner(&self) -> sys::CUcontext;
}

/// How an L1 cache and shared memory divide what they have in common.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheConfig {
    /// As the driver thinks best.
    PreferNone = 0,
    /// More shared memory.
    PreferShared = 1,
    /// More cache.
    PreferL1 = 2,
    /// The same of both.
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

/// A limit of a context.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceLimit {
    /// Bytes of stack of each thread on the device.
    StackSize = 0,
    /// Bytes of the buffer of `printf`.
    PrintfFifoSize = 1,
    /// Bytes of the heap of `malloc` on the device.
    MallocHeapSize = 2,
    /// How deep device-side launches may wait for each other.
    DeviceRuntimeSynchronizeDepth = 3,
    /// How many device-side launches may be pending.
    DeviceRuntimePendingLaunchCount = 4,
    /// Bytes that one fetch brings into the L2 cache: a hint from 0 to 128.
    MaxL2FetchGranularity = 5,
}

/// The width of a bank of shared memory. Only GPUs of compute capability 3.x have a choice.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedMemoryConfig {
    /// The device's default.
    DefaultBankSize = 0,
    /// Four bytes.
    FourByteBankSize = 1,
    /// Eight bytes.
    EightByteBankSize = 2,
}

bitflags::bitflags! {
    /// How a thread waits for the device, and what a context prepares for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct ContextFlags: u32 {
        /// A waiting thread spins.
        const SCHED_SPIN = 0x01;
        /// A waiting thread yields.
        const SCHED_YIELD = 0x02;
        /// A waiting thread sleeps.
        const SCHED_BLOCKING_SYNC = 0x04;
        /// As the driver thinks best.
        const SCHED_AUTO = 0x00;
        /// Page-locked memory may be mapped into the device's address space.
        const MAP_HOST = 0x08;
        /// Local memory stays allocated after a kernel that needed much of it.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// Keeps the primary context of a device alive.
#[derive(Debug)]
pub struct Context {
    inner: sys::CUcontext,
    device: Device,
}

// SAFETY: a context handle may be used from any thread; the driver locks.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
}

impl Clone for Context {
    /// Retains the same context again.
    ///
    /// # Panics
    /// If the driver refuses, which it does only after a fatal error.
    fn clone(&self) -> Self {
        match Self::retain(self.device) {
            Ok(context) => context,
            Err(error) => panic!("retaining a context that is retained failed: {error}"),
        }
    }
}

impl Context {
    /// Retains the primary context of `device` and makes it current on this thread. The first to do so in
    /// the process makes the context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(device: Device) -> CudaResult<Self> {
        let context = Self::retain(device)?;
        // SAFETY: the context is alive.
        unsafe { driver::cuCtxSetCurrent(context.inner) }?;
        Ok(context)
    }

    /// Retains the primary context of `device`, and leaves alone which one is current.
    ///
    /// # Errors
    /// What the driver says.
    pub fn retain(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the result is written.
        unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut inner, device.as_raw()) }?;
        Ok(Self { inner, device })
    }

    /// Destroys the primary context of `device` and everything in it, whoever uses it.
    ///
    /// # Safety
    /// Nobody in the process uses anything of the context afterwards.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: as the caller vouches.
        unsafe { driver::cuDevicePrimaryCtxReset_v2(device.as_raw()) }
    }

    /// Sets how threads wait for the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: no preconditions.
        unsafe { driver::cuDevicePrimaryCtxSetFlags_v2(self.device.as_raw(), flags.bits()) }
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.inner
    }

    /// The version of the API that the context was made with.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Releases the context; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the context.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(context: Self) -> DropResult<Self> {
        // SAFETY: retained once, so released once.
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
        // SAFETY: retained once, so released once.
        let release = || unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
        // What fails may pass; there is nobody to tell of a failure that stays.
        let _ = release().or_else(|_| release());
    }
}

/// The version of the API that a context was made with.
pub(crate) fn api_version(context: sys::CUcontext) -> CudaResult<CudaApiVersion> {
    let mut version = 0;
    // SAFETY: the context is alive, the result is written.
    unsafe { driver::cuCtxGetApiVersion(context, &raw mut version) }?;
    Ok(CudaApiVersion::new(version as i32))
}

/// What is asked of whichever context is current on this thread.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// How cache and shared memory divide.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_cache_config() -> CudaResult<CacheConfig> {
        let mut config = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetCacheConfig(&raw mut config) }?;
        Ok(CacheConfig::from_raw(config))
    }

    /// The context's device.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_device() -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetDevice(&raw mut device) }?;
        Ok(Device::from_raw(device))
    }

    /// How threads wait for the device.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        let mut flags = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetFlags(&raw mut flags) }?;
        Ok(ContextFlags::from_bits_truncate(flags))
    }

    /// A limit, in the unit that it states.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        let mut limit = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetLimit(&raw mut limit, resource as u32) }?;
        Ok(limit)
    }

    /// The width of a bank of shared memory.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_shared_memory_config() -> CudaResult<SharedMemoryConfig> {
        let mut config = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuCtxGetSharedMemConfig(&raw mut config) }?;
        Ok(match config {
            1 => SharedMemoryConfig::FourByteBankSize,
            2 => SharedMemoryConfig::EightByteBankSize,
            _ => SharedMemoryConfig::DefaultBankSize,
        })
    }

    /// The priorities that streams can have.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange { least: 0, greatest: 0 };
        // SAFETY: the results are written.
        unsafe {
            driver::cuCtxGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest)
        }?;
        Ok(range)
    }

    /// Sets how cache and shared memory divide; a wish, not an order.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn set_cache_config(config: CacheConfig) -> CudaResult<()> {
        // SAFETY: no preconditions.
        unsafe { driver::cuCtxSetCacheConfig(config as u32) }
    }

    /// Sets a limit, in the unit that it states; the driver may round.
    ///
    /// # Errors
    /// No current context, a limit that the device does not have, or what the driver says.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: no preconditions.
        unsafe { driver::cuCtxSetLimit(resource as u32, limit) }
    }

    /// Sets the width of a bank of shared memory.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn set_shared_memory_config(config: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: no preconditions.
        unsafe { driver::cuCtxSetSharedMemConfig(config as u32) }
    }

    /// Makes `context` current on this thread.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_current<C: ContextHandle>(context: &C) -> CudaResult<()> {
        // SAFETY: the context is alive while it is borrowed; later, calls in it fail.
        unsafe { driver::cuCtxSetCurrent(context.get_inner()) }
    }

    /// Waits until all work of the context is done.
    ///
    /// # Errors
    /// No current context, or what the driver says of that work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: no preconditions.
        unsafe { driver::cuCtxSynchronize() }
    }
}
