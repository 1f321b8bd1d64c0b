//! GPU or CPU: memory, streams and kernel launches from Rust.
//!
//! Two interfaces lie side by side here:
//!
//! - [`typed`] is this project's own. A [`typed::Device`] is a GPU or the CPU, chosen when the program
//!   runs; a launch takes a kernel's arguments by name and type and is safe if the kernel is; an error
//!   says which operation failed where.
//! - The other modules are rust-cuda's `cust`, with its names and signatures: [`quick_init`],
//!   [`module::Module`], [`launch!`], [`memory::DeviceBuffer`] and so on, over the current context of a
//!   thread. A program that was written for rust-cuda builds unchanged.
//!
//! Neither needs CUDA to build. NVIDIA's driver is loaded at run time; without a GPU kernels run on the
//! CPU, with the GPU's meaning: the same kernel functions, and what a GPU leaves undefined is a reported
//! fault. Kernels that are launched by name run there too if the program links their crate, for which
//! one line is enough: `use my_kernels as _;`. [`backend`] says which of the two a process uses.
//!
//! # Limits
//! - The runtime API (`cuda*`), NVTX and the OptiX parts of rust-cuda are not here.
//! - On the CPU a process has one device, and no linker.

pub mod context;
mod cpu;
pub mod device;
mod driver;
pub mod error;
pub mod event;
pub mod external;
pub mod function;
pub mod graph;
pub mod link;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod surface;
pub mod texture;
pub mod typed;
pub mod util;

pub use cust_derive::DeviceCopy;
pub use cust_raw::driver_sys as sys;
pub use cust_raw::{DEFAULT_LIBRARY, DriverInfo, LIBRARY_VARIABLE, driver, missing_symbols};

pub use driver::{BACKEND_VARIABLE, Backend, backend};

use context::{Context, ContextFlags};
use device::Device;
use error::CudaResult;

bitflags::bitflags! {
    /// Reserved by the driver.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct CudaFlags: u32 {
        #[doc(hidden)]
        const _ZERO = 0;
    }
}

/// Initialises the driver; to be called before anything else is asked of it, as often as one likes.
///
/// # Errors
/// `NoDevice` without a GPU where the program links no kernels either, or what the driver says.
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    // SAFETY: no preconditions.
    unsafe { driver::cuInit(flags.bits()) }
}

/// Initialises the driver, and makes the first device's primary context current on this thread.
///
/// # Errors
/// As [`init`], or what the driver says.
#[must_use = "the context must be kept alive: without it calls fail"]
pub fn quick_init() -> CudaResult<Context> {
    init(CudaFlags::empty())?;
    let context = Context::new(Device::get_device(0)?)?;
    context.set_flags(ContextFlags::SCHED_AUTO)?;
    Ok(context)
}

/// A version of the driver API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaApiVersion {
    version: i32,
}

impl CudaApiVersion {
    pub(crate) fn new(version: i32) -> Self {
        Self { version }
    }

    /// The newest version that the driver supports.
    ///
    /// # Errors
    /// No driver, or what it says.
    pub fn get() -> CudaResult<Self> {
        let mut version = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuDriverGetVersion(&raw mut version) }?;
        Ok(Self { version })
    }

    /// Major version, such as 12 of 12.8.
    #[must_use]
    pub fn major(self) -> i32 {
        self.version / 1000
    }

    /// Minor version, such as 8 of 12.8.
    #[must_use]
    pub fn minor(self) -> i32 {
        self.version % 1000 / 10
    }
}

pub(crate) mod private {
    pub trait Sealed {}
}

/// What the macros expand to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use linkme;
}
