//! Devices: where kernels run and memory lies, be it an NVIDIA GPU or the CPU.
//!
//! A [`Device`] gives [`Stream`]s, which take copies and kernel launches in order, and memory:
//! [`Buffer`], [`Image`], [`Array`] and page-locked [`Pinned`]. Both kinds of device have the same
//! interface; on the CPU work is done at once, when it is submitted.
//!
//! The NVIDIA driver is loaded at run time. Without one everything here still links and runs, and
//! asking for a GPU is an error that says so.
//!
//! Not here: managed memory, peer access, graphs. [`crate::memory`] and [`crate::graph`] have those,
//! with rust-cuda's names.

mod buffer;
mod context;
mod counters;
mod cuda;
mod error;
mod event;
mod gpu;
mod image;
mod memory;
mod module;
mod pinned;
mod pinned_copy;
mod ptx;
mod stream;
mod texture;
mod textures;

use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cuda_std::ConstantArray;
use cuda_std::cpu::ConstantBank;
use cust_raw::driver_sys as sys;

use cuda::CudaDevice;

pub use buffer::Buffer;
pub use context::insist;
pub use counters::Counters;
pub use cuda::{CudaInfo, KernelResources};
pub use error::{DeviceError, ErrorKind};
pub use event::Event;
pub use image::Image;
pub use memory::Memory;
pub use pinned::Pinned;
pub use pinned_copy::PinnedCopy;
pub use ptx::{Arch, KernelModule, PtxImage, PtxText, REGISTERED};
pub use stream::{Priority, Rows, RowsMut, Stream};
pub use texture::{Array, ReadMode, Texture, TextureMode};
pub use textures::Textures;

pub use cuda_std::Texel;
pub use cuda_std::cpu::texture::{Address, Filter};
pub use cuda_std::launch::{LaunchConfig, Place};

/// A GPU or the CPU. Cheap to clone; clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Kind>);

/// What a device is.
pub(crate) enum Kind {
    Cpu { constants: Mutex<Arc<ConstantBank>> },
    Cuda(CudaDevice),
}

impl Device {
    /// The first GPU that can be used, else the CPU. [`first_gpu`](Self::first_gpu) says why there is
    /// no GPU.
    #[must_use]
    pub fn auto() -> Self {
        Self::first_gpu().unwrap_or_else(|_| Self::cpu())
    }

    /// The first GPU that can be used.
    ///
    /// # Errors
    /// As [`cuda`](Self::cuda) of the first GPU, if no other can be used either.
    #[track_caller]
    pub fn first_gpu() -> Result<Self, DeviceError> {
        let first = Self::cuda(0);
        if first.is_ok() {
            return first;
        }
        // Another GPU may be newer, or free.
        (1..cuda::count()?).find_map(|ordinal| Self::cuda(ordinal).ok()).map_or(first, Ok)
    }

    /// The CPU.
    #[must_use]
    pub fn cpu() -> Self {
        Self(Arc::new(Kind::Cpu { constants: Mutex::default() }))
    }

    /// The GPU with this ordinal, with the kernels loaded that the program
    /// [registered](crate::kernels).
    ///
    /// # Errors
    /// No driver, no such device, an architecture older than the kernels, or what the driver says.
    #[track_caller]
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        Self::cuda_with(ordinal, &REGISTERED)
    }

    /// The GPU with this ordinal, with these kernels loaded and no others.
    ///
    /// # Errors
    /// As [`cuda`](Self::cuda).
    #[track_caller]
    pub fn cuda_with(ordinal: u32, modules: &[KernelModule]) -> Result<Self, DeviceError> {
        Ok(Self(Arc::new(Kind::Cuda(CudaDevice::open(ordinal, modules)?))))
    }

    /// Uses a CUDA context that another library made, such as a C library or `cudarc`, with the kernels
    /// loaded that the program [registered](crate::kernels). The context stays the library's: dropping the
    /// device unloads the kernels and does not destroy it.
    ///
    /// A library that uses the primary context, as the runtime API and `cudarc` do, shares it with
    /// [`cuda`](Self::cuda) already.
    ///
    /// # Safety
    /// - The context lives as long as the device, its clones, and all memory, streams and events of it.
    /// - Nothing of another context of the same GPU is used together with them.
    ///
    /// # Errors
    /// As [`cuda`](Self::cuda), and a context that is not alive.
    #[track_caller]
    pub unsafe fn from_context(context: sys::CUcontext) -> Result<Self, DeviceError> {
        // SAFETY: as the caller vouches.
        let device = unsafe { CudaDevice::from_context(context, &REGISTERED) }?;
        Ok(Self(Arc::new(Kind::Cuda(device))))
    }

    /// The driver's handle of the context, for other libraries; null on the CPU.
    #[must_use]
    pub fn as_context(&self) -> sys::CUcontext {
        match self.kind() {
            Kind::Cpu { .. } => ptr::null_mut(),
            Kind::Cuda(device) => device.context(),
        }
    }

    /// Loads further kernels, which launches find from then on. The CPU needs no loading: every kernel
    /// that the program links is there.
    ///
    /// # Errors
    /// An architecture older than the kernels, or what the driver says.
    #[track_caller]
    pub fn load(&self, module: &KernelModule) -> Result<(), DeviceError> {
        match self.kind() {
            Kind::Cpu { .. } => Ok(()),
            Kind::Cuda(device) => device.load(module),
        }
    }

    /// What there is to know about each GPU, in order of ordinals.
    ///
    /// # Errors
    /// No driver, or what the driver says.
    #[track_caller]
    pub fn cuda_devices() -> Result<Vec<CudaInfo>, DeviceError> {
        CudaInfo::all()
    }

    /// Where this device's memory lies.
    #[must_use]
    pub fn place(&self) -> Place {
        match self.kind() {
            Kind::Cpu { .. } => Place::Cpu,
            Kind::Cuda(device) => Place::Cuda(device.info().ordinal),
        }
    }

    /// The GPU's description; `None` on the CPU.
    #[must_use]
    pub fn cuda_info(&self) -> Option<&CudaInfo> {
        match self.kind() {
            Kind::Cpu { .. } => None,
            Kind::Cuda(device) => Some(device.info()),
        }
    }

    /// Whether the device can still be used. False for good after a fatal error.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.health().is_ok()
    }

    /// Whether the device can still be used.
    ///
    /// # Errors
    /// The fatal error that has ended it, for good.
    #[track_caller]
    pub fn health(&self) -> Result<(), DeviceError> {
        match self.kind() {
            Kind::Cpu { .. } => Ok(()),
            Kind::Cuda(device) => device.check_alive("using a device"),
        }
    }

    /// A stream of default priority.
    ///
    /// # Errors
    /// What the driver says.
    #[track_caller]
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(self, Priority::Default)
    }

    /// Sets an array in constant memory: the first `values.len()` elements. Waits for all work on
    /// the device, which may be reading it; what another thread launches meanwhile may see either value.
    ///
    /// # Errors
    /// More values than elements, no such constant in the loaded kernels, or what the driver says.
    #[track_caller]
    pub fn set_constant<C: ConstantArray>(&self, values: &[C::Element]) -> Result<(), DeviceError>
    where
        C::Element: Pod,
    {
        if values.len() > C::LEN as usize {
            return Err(DeviceError::new(
                "setting a constant",
                ErrorKind::SizeMismatch {
                    what: C::SYMBOL,
                    found: (values.len(), 1),
                    expected: (C::LEN as usize, 1),
                },
            ));
        }
        let bytes = bytemuck::cast_slice(values);
        match self.kind() {
            Kind::Cpu { constants } => {
                let mut constants = constants.lock().unwrap_or_else(PoisonError::into_inner);
                // A launch that runs meanwhile keeps what it began with.
                Arc::make_mut(&mut constants).set(C::SYMBOL, bytes);
                Ok(())
            }
            Kind::Cuda(device) => device.set_constant(C::SYMBOL, bytes),
        }
    }

    /// What a kernel takes as compiled for this GPU; `None` on the CPU.
    ///
    /// # Errors
    /// No such kernel in the loaded module, or what the driver says.
    #[track_caller]
    pub fn kernel_resources(&self, kernel: &str) -> Result<Option<KernelResources>, DeviceError> {
        match self.kind() {
            Kind::Cpu { .. } => Ok(None),
            Kind::Cuda(device) => device.resources(kernel).map(Some),
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Cpu { .. } => f.write_str("CPU"),
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
