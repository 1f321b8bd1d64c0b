//! Devices that run kernels and hold memory: NVIDIA GPUs and the CPU.
//!
//! A [`Device`] creates [`Stream`]s, which run copies and kernel launches in order, and memory:
//! [`Buffer`], [`Image`], [`Array`] and page-locked [`Pinned`]. Both kinds of device have the same
//! interface. On the CPU, each operation is done when the call that submits it returns.
//!
//! The NVIDIA driver is loaded at run time. A program that uses this module also starts without a
//! driver; opening a GPU then returns [`ErrorKind::NoDriver`].
//!
//! Every operation can fail with the driver's error, which may come from earlier work, and with an
//! error if its objects belong to different devices or have different sizes. An allocation fails with
//! [`ErrorKind::ImpossibleSize`] if its size is zero or exceeds the address space. The sections
//! `Errors` state only further errors. Memory that an operation owns is freed if it fails.
//!
//! Managed memory is in [`crate::memory`]. Graphs and peer access between GPUs are not supported.
//!
//! ```
//! use cust::typed::{Buffer, Device};
//!
//! let device = Device::auto();
//! let stream = device.stream()?;
//! let buffer = Buffer::from_slice(&stream, &[1, 2, 3])?;
//! assert_eq!(buffer.download(&stream)?, [1, 2, 3]);
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

mod buffer;
mod context;
mod counters;
mod cpu;
mod cuda;
mod elements;
pub(crate) mod error;
mod event;
pub(crate) mod gpu;
mod image;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod pinned;
mod pinned_copy;
mod ptx;
pub(crate) mod rows;
mod stream;
mod texture;
mod textures;

use std::fmt;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cuda_std::ConstantArray;
use cust_raw::driver_sys as sys;

use cpu::CpuDevice;
use cuda::CudaDevice;
use gpu::Gpu;

pub use buffer::Buffer;
pub use context::insist;
pub use counters::Counters;
pub use cuda::KernelResources;
pub use error::{DeviceError, ErrorKind};
pub use event::Event;
pub use gpu::CudaInfo;
pub use image::Image;
pub use memory::Memory;
pub use pinned::Pinned;
pub use pinned_copy::PinnedCopy;
pub use ptx::{Arch, KernelModule, PtxImage, PtxText, REGISTERED, SplitPtx};
pub use rows::{Rows, RowsMut};
pub use stream::{Priority, Stream};
pub use texture::{Array, ReadMode, Texture, TextureMode};
pub use textures::Textures;

pub use cuda_std::Texel;
pub use cuda_std::cpu::Checks;
pub use cuda_std::cpu::profile::{self, Profile};
pub use cuda_std::cpu::texture::{Address, Filter};
pub use cuda_std::launch::{LaunchConfig, Place};

/// A GPU or the CPU. A clone refers to the same device.
///
/// ```
/// use cust::typed::{Checks, Device, Place};
///
/// // The first GPU, or the CPU on a machine without a GPU.
/// let device = Device::auto();
/// assert!(device.is_healthy());
/// device.health()?;
/// println!("{device} at {}", device.place());
///
/// // The CPU, whose launches also report races on global memory.
/// let device = Device::cpu_with(Checks { global: true, ..Checks::default() });
/// assert_eq!((device.place(), device.to_string()), (Place::Cpu, "CPU simulator".to_owned()));
/// assert!(device.as_context().is_null() && device.cuda_info().is_none());
/// assert!(device.kernel_resources("any kernel")?.is_none());
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Kind>);

/// The state of a device.
pub(crate) enum Kind {
    Cpu(CpuDevice),
    Cuda(CudaDevice),
}

impl Device {
    /// Returns the first usable GPU, or the CPU if there is none. [`first_gpu`](Self::first_gpu)
    /// reports why there is no GPU.
    #[must_use]
    pub fn auto() -> Self {
        Self::first_gpu().unwrap_or_else(|_| Self::cpu())
    }

    /// Returns the first usable GPU.
    ///
    /// # Errors
    /// If no GPU is usable, returns the error of [`cuda`](Self::cuda) for GPU 0.
    #[track_caller]
    pub fn first_gpu() -> Result<Self, DeviceError> {
        let first = Self::cuda(0);
        if first.is_ok() {
            return first;
        }
        // Another GPU may be usable, for example because it has a newer architecture, or because no
        // other process uses it exclusively.
        (1..Gpu::count()?).find_map(|ordinal| Self::cuda(ordinal).ok()).map_or(first, Ok)
    }

    /// Returns the CPU device for users. A launch calls the kernel's function for the CPU
    /// ([`KernelEntry::cpu`](cuda_std::launch::KernelEntry::cpu)), if it has one, and
    /// otherwise runs in the [`simulator`](Self::simulator).
    ///
    /// While a [`profile`] is recorded, all launches run in the simulator. So does a launch inside a
    /// launch.
    #[must_use]
    pub fn cpu() -> Self {
        Self::on_cpu(Checks::of_process(), false)
    }

    /// Returns the CPU device for authors of kernels: every launch runs in the simulator, with the
    /// default [`Checks`], which depend on the build and on the environment variable
    /// `CUDA_CPU_CHECKS`.
    #[must_use]
    pub fn simulator() -> Self {
        Self::cpu_with(Checks::of_process())
    }

    /// Returns the CPU device whose launches all run in the simulator and report the faults that
    /// `checks` selects.
    #[must_use]
    pub fn cpu_with(checks: Checks) -> Self {
        Self::on_cpu(checks, true)
    }

    fn on_cpu(checks: Checks, simulates: bool) -> Self {
        Self(Arc::new(Kind::Cpu(CpuDevice::new(checks, simulates))))
    }

    /// Opens the GPU with this ordinal and loads the kernels that the program
    /// [registered](crate::kernels).
    ///
    /// # Errors
    /// Returns an error if there is no driver, if there is no GPU with this ordinal, or if a kernel
    /// module has no PTX that runs on this GPU. Otherwise returns the driver's error, if any.
    #[track_caller]
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        Self::cuda_with(ordinal, &REGISTERED)
    }

    /// Opens the GPU with this ordinal and loads only the kernels of `modules`.
    #[track_caller]
    pub fn cuda_with(ordinal: u32, modules: &[KernelModule]) -> Result<Self, DeviceError> {
        Ok(Self(Arc::new(Kind::Cuda(CudaDevice::open(ordinal, modules)?))))
    }

    /// Creates a device from a CUDA context that another library, such as a C library or `cudarc`,
    /// created. Loads the kernels that the program [registered](crate::kernels). The library still
    /// owns the context: dropping the device unloads the kernels but does not destroy the context.
    ///
    /// [`cuda`](Self::cuda) already shares the primary context with libraries that use it, such as
    /// the runtime API and `cudarc`.
    ///
    /// # Safety
    /// - The context must outlive the device, its clones, and all their memory, streams and events.
    /// - The caller must not combine the device, or its memory, streams and events, with objects of
    ///   another context of the same GPU.
    ///
    /// # Errors
    /// Returns the errors of [`cuda`](Self::cuda), or an error if the context is not alive.
    #[track_caller]
    pub unsafe fn from_context(context: sys::CUcontext) -> Result<Self, DeviceError> {
        // SAFETY: the caller upholds this function's safety contract.
        let device = unsafe { CudaDevice::from_context(context, &REGISTERED) }?;
        Ok(Self(Arc::new(Kind::Cuda(device))))
    }

    /// Returns the raw context handle for use with other libraries. Returns null on the CPU.
    #[must_use]
    pub fn as_context(&self) -> sys::CUcontext {
        self.gpu().map_or(ptr::null_mut(), CudaDevice::context)
    }

    /// Compiles the kernels whose names `is_wanted` accepts, so that their first launches do not wait
    /// for the driver. Calls `before` with the name of each kernel before it is compiled. Only kernels
    /// of [`PtxText::Split`] are compiled so late. On the CPU, this does nothing.
    #[track_caller]
    pub fn prepare(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        mut before: impl FnMut(&str),
    ) -> Result<(), DeviceError> {
        let Some(gpu) = self.gpu() else { return Ok(()) };
        gpu.prepare(&is_wanted, &mut before)
    }

    /// Loads the kernels of `module` so that later launches can use them. On the CPU, this does
    /// nothing, because every kernel is linked into the program.
    ///
    /// # Errors
    /// Returns an error if `module` has no PTX that runs on this GPU, or the driver's error.
    #[track_caller]
    pub fn load(&self, module: &KernelModule) -> Result<(), DeviceError> {
        let Some(gpu) = self.gpu() else { return Ok(()) };
        gpu.load(module)
    }

    /// Returns a description of each GPU, in order of ordinals.
    #[track_caller]
    pub fn cuda_devices() -> Result<Vec<CudaInfo>, DeviceError> {
        (0..Gpu::count()?).map(|ordinal| CudaInfo::of(ordinal, Gpu::get(ordinal)?)).collect()
    }

    /// Returns the [`Place`] that identifies this device.
    #[must_use]
    pub fn place(&self) -> Place {
        self.cuda_info().map_or(Place::Cpu, |info| Place::Cuda(info.ordinal))
    }

    /// Returns the description of the GPU, or `None` on the CPU.
    #[must_use]
    pub fn cuda_info(&self) -> Option<&CudaInfo> {
        self.gpu().map(CudaDevice::info)
    }

    /// Returns whether the device can still be used. A fatal error makes this `false` permanently.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.health().is_ok()
    }

    /// Checks that the device can still be used.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Lost`], which contains the fatal error, if one has occurred. The device
    /// then stays lost until the process restarts.
    #[track_caller]
    pub fn health(&self) -> Result<(), DeviceError> {
        let Some(gpu) = self.gpu() else { return Ok(()) };
        gpu.check_alive("using a device")
    }

    /// Creates a stream of default priority.
    #[track_caller]
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(self, Priority::Default)
    }

    /// Sets the first `values.len()` elements of an array in constant memory. First waits for all
    /// work on the device, because a running kernel may be reading the array. If another thread
    /// submits a launch during this call, that launch may read the old or the new values.
    ///
    /// # Errors
    /// Returns an error if there are more values than array elements or no loaded module has the
    /// array, or the driver's error.
    #[track_caller]
    pub fn set_constant<C: ConstantArray>(&self, values: &[C::Element]) -> Result<(), DeviceError>
    where
        C::Element: Pod,
    {
        if values.len() > C::LEN as usize {
            let (found, expected) = ((values.len(), 1), (C::LEN as usize, 1));
            let kind = ErrorKind::SizeMismatch { what: C::SYMBOL, found, expected };
            return Err(DeviceError::new("setting a constant", kind));
        }
        let bytes = bytemuck::cast_slice(values);
        match self.kind() {
            Kind::Cpu(cpu) => {
                cpu.set_constant(C::SYMBOL, bytes);
                Ok(())
            }
            Kind::Cuda(device) => device.set_constant(C::SYMBOL, bytes),
        }
    }

    /// Returns the resource usage of a kernel as compiled for this GPU, or `None` on the CPU.
    ///
    /// # Errors
    /// Returns an error if no loaded module has the kernel, or the driver's error.
    #[track_caller]
    pub fn kernel_resources(&self, kernel: &str) -> Result<Option<KernelResources>, DeviceError> {
        let Some(gpu) = self.gpu() else { return Ok(None) };
        gpu.resources(kernel).map(Some)
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    pub(crate) fn gpu(&self) -> Option<&CudaDevice> {
        match self.kind() {
            Kind::Cpu(_) => None,
            Kind::Cuda(gpu) => Some(gpu),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Cpu(cpu) if !cpu.simulates => f.write_str("CPU"),
            Kind::Cpu(_) => f.write_str("CPU simulator"),
            Kind::Cuda(device) => {
                write!(f, "{} (cuda:{})", device.info().name, device.info().ordinal)
            }
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
