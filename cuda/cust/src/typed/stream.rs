//! Streams: queues of copies and launches that run in order.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use cuda_std::launch::{Kernel, KernelEntry, LaunchConfig, LaunchError, Params, SafeKernel};
use cust_raw::driver_sys as sys;

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::module::NamedKernel;
use super::{Device, Event, Kind};

/// The scheduling priority of a stream on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The driver's default priority, which is also the lowest.
    Default,
    /// The driver's highest priority, for work with a deadline.
    High,
}

/// A queue of work on one device. On the CPU, an operation is done when the call that submits it
/// returns.
///
/// Work in different streams of a GPU can run concurrently. Use [`Event`]s to order work across
/// streams. If two streams access the same memory without such an order, and at least one of them
/// writes, the contents of that memory are unspecified. Other memory is not affected.
pub struct Stream {
    /// The driver's handle; null on the CPU.
    raw: sys::CUstream,
    device: Device,
    /// The token that counts the stream in the leak counters. `None` on the CPU, and for a stream
    /// that belongs to another library.
    counted: Option<Token>,
}

// SAFETY: any thread whose context is current may use a stream handle, and every operation makes
// the context current; driver calls are thread-safe.
unsafe impl Send for Stream {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that does not wait for the default stream.
    #[track_caller]
    pub fn new(device: &Device, priority: Priority) -> Result<Self, DeviceError> {
        Self::with_flags(device, priority, sys::CU_STREAM_NON_BLOCKING)
    }

    #[track_caller]
    pub(crate) fn with_flags(
        device: &Device,
        priority: Priority,
        flags: u32,
    ) -> Result<Self, DeviceError> {
        const OP: &str = "creating a stream";
        let (raw, counted) = match device.kind() {
            Kind::Cpu(_) => (ptr::null_mut(), None),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let (mut least, mut greatest, mut raw) = (0, 0, ptr::null_mut());
                // SAFETY: the driver writes the results to local variables.
                unsafe { sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) }
                    .check(OP)?;
                let priority = match priority {
                    Priority::Default => least,
                    Priority::High => greatest,
                };
                // SAFETY: the driver writes the handle to a local variable.
                unsafe { sys::cuStreamCreateWithPriority(&raw mut raw, flags, priority) }
                    .check(OP)?;
                Ok((raw, Some(Token::new(counters::Kind::Streams, 1))))
            })?,
        };
        Ok(Self { raw, device: device.clone(), counted })
    }

    /// Wraps a stream that another library created and will destroy. The CPU ignores the handle.
    ///
    /// # Safety
    /// `raw` must belong to the device's context, and must not be destroyed before the returned
    /// value is dropped.
    #[must_use]
    pub unsafe fn from_raw(device: &Device, raw: sys::CUstream) -> Self {
        let raw = match device.kind() {
            Kind::Cpu(_) => ptr::null_mut(),
            Kind::Cuda(_) => raw,
        };
        Self { raw, device: device.clone(), counted: None }
    }

    /// Returns the stream's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Launches a kernel with its arguments.
    ///
    /// # Errors
    /// Returns an error before the launch reaches the driver if the block exceeds the kernel's
    /// launch bounds, the grid is empty or too large, or memory belongs to another device.
    /// Otherwise returns the kernel's fault on the CPU, or the driver's error on a GPU, which may
    /// come from earlier work.
    #[track_caller]
    pub fn launch<K: SafeKernel>(
        &self,
        config: &LaunchConfig,
        kernel: &K,
    ) -> Result<(), DeviceError> {
        // SAFETY: a `SafeKernel` has no requirements that its caller must meet.
        unsafe { self.launch_unchecked(config, kernel) }
    }

    /// Launches a kernel that is an `unsafe fn`.
    ///
    /// # Safety
    /// The caller must meet the kernel's safety requirements.
    #[track_caller]
    pub unsafe fn launch_unchecked<K: Kernel>(
        &self,
        config: &LaunchConfig,
        kernel: &K,
    ) -> Result<(), DeviceError> {
        // SAFETY: the parameters are those of the kernel. The caller upholds the rest of the safety contract.
        unsafe { self.launch_entry(config, K::ENTRY, kernel.params()) }
    }

    /// Launches a kernel with its parameters.
    ///
    /// # Safety
    /// `params` must be the parameters of the kernel, and the caller must meet the kernel's safety
    /// requirements.
    #[track_caller]
    unsafe fn launch_entry(
        &self,
        config: &LaunchConfig,
        entry: &'static KernelEntry,
        mut params: Params<'_>,
    ) -> Result<(), DeviceError> {
        const OP: &str = "launching a kernel";
        config.check_entry(entry).check(OP)?;
        let wanted = self.device.place();
        if let Some(found) = params.places().find(|&place| place != wanted) {
            return Err(LaunchError::wrong_device(entry.name, found, wanted)).check(OP);
        }
        match self.device.kind() {
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let function = cuda.function(entry)?;
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { cuda.launch(self.raw, config, function, params.pointers().as_mut_ptr()) }
            }),
            // SAFETY: the memory arguments are in host memory. They are copies and checked handles,
            // or the caller keeps what they refer to until no other thread uses it.
            Kind::Cpu(cpu) => unsafe { cpu.launch(config, entry, params.pointers()) },
        }
    }

    /// Launches a kernel that was found by its name. The driver checks the shape on a GPU.
    ///
    /// # Safety
    /// `params` must point to the kernel's parameters, and the caller must meet the kernel's safety
    /// requirements.
    #[track_caller]
    pub(crate) unsafe fn launch_named(
        &self,
        config: &LaunchConfig,
        kernel: NamedKernel,
        params: &[*mut c_void],
    ) -> Result<(), DeviceError> {
        const OP: &str = "launching a kernel";
        match (self.device.kind(), kernel) {
            (Kind::Cuda(cuda), NamedKernel::Cuda(function)) => cuda.enter(OP, || {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { cuda.launch(self.raw, config, function, params.as_ptr().cast_mut()) }
            }),
            (Kind::Cpu(cpu), NamedKernel::Cpu(entry)) => {
                config.check_entry(entry).check(OP)?;
                let (found, expected) = ((params.len(), 1), (entry.params.len(), 1));
                if found != expected {
                    let what = "arguments of a launch, where a slice has a pointer and a length";
                    return Err(ErrorKind::SizeMismatch { what, found, expected }).check(OP);
                }
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { cpu.launch(config, entry, params) }
            }
            _ => Err(sys::CUresult::CUDA_ERROR_INVALID_HANDLE).check(OP),
        }
    }

    /// Waits until all work submitted so far is done.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        const OP: &str = "waiting for a stream";
        match self.device.kind() {
            Kind::Cpu(_) => Ok(()),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the handle is alive.
                unsafe { sys::cuStreamSynchronize(self.raw) }.check(OP)
            }),
        }
    }

    /// Returns whether all work submitted so far is done.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        const OP: &str = "querying a stream";
        match self.device.kind() {
            Kind::Cpu(_) => Ok(true),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the handle is alive.
                match unsafe { sys::cuStreamQuery(self.raw) } {
                    sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
                    result => result.check(OP).map(|()| true),
                }
            }),
        }
    }

    /// Makes all work that is submitted to this stream later wait for `event`. Another stream may
    /// have recorded the event.
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        event.make_wait(self)
    }

    /// Returns the raw handle for use with other libraries. Returns null on the CPU.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUstream {
        self.raw
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let (Kind::Cuda(cuda), Some(counted)) = (self.device.kind(), &mut self.counted) {
            // SAFETY: the handle is alive and is destroyed only once; the driver lets the stream's
            // work finish.
            cuda.release(Some(counted), || unsafe { sys::cuStreamDestroy_v2(self.raw) });
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream on {}", self.device)
    }
}
