//! Memory, streams and kernel launches for CUDA kernels, on a GPU or on the CPU.
//!
//! The crate has two interfaces:
//!
//! - [`typed`] is specific to this crate. A [`typed::Device`] is a GPU or the CPU, chosen at run
//!   time. A launch takes a struct with one named, typed field for each kernel parameter. A launch
//!   is safe if the kernel is a safe function. An error states the failed operation and its source
//!   location.
//! - The other modules are the part of rust-cuda's `cust` that its examples use, with the same names:
//!   [`quick_init`], [`module::Module`], [`launch!`], [`memory::DeviceBuffer`] and so on. They use
//!   the context that is current on the calling thread, and are thin layers over [`typed`].
//!
//! Neither interface needs CUDA to build. The crate loads NVIDIA's driver at run time. Without a
//! GPU, the same kernels run on the CPU. Floating-point results may differ in rounding. The CPU
//! reports a fault for many operations whose behaviour on a GPU is undefined, such as an
//! out-of-bounds access to a slice. To launch a kernel by name on the CPU, the program must link
//! the kernel's crate: `use my_kernels as _;`. [`backend`] returns the choice between the GPU and
//! the CPU for launches by name.
//!
//! # Examples
//! A typed launch:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Buffer, Device, DeviceError, LaunchConfig};
//!
//! /// Doubles every element. In a real program, kernels are a crate of their own.
//! #[kernel(dims(1))]
//! pub fn double(input: Slice<f32>, out: SliceMut<f32>) {
//!     let i = thread::unique_1d();
//!     if let Some(value) = input.get(i) {
//!         out.set(i, 2.0 * value);
//!     }
//! }
//!
//! fn main() -> Result<(), DeviceError> {
//!     // `Device::auto()` prefers a GPU, for which `cuda_builder` compiles the kernels.
//!     let device = Device::cpu();
//!     let stream = device.stream()?;
//!     let input = Buffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
//!     let mut out = Buffer::<f32>::new(&device, input.len())?;
//!
//!     let double = Double { input: input.view(), out: out.view_mut() };
//!     stream.launch(&LaunchConfig::for_1d(input.len(), 256), &double)?;
//!     assert_eq!(out.download(&stream)?, [2.0, 4.0, 6.0]);
//!     Ok(())
//! }
//! ```
//!
//! A launch by name, as in rust-cuda:
//!
//! ```
//! use cust::error::CudaResult;
//! use cust::prelude::*;
//! # use cuda_std::{kernel, thread};
//! # #[kernel]
//! # pub unsafe fn halve(data: &mut [f32]) {
//! #     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
//! #         *value /= 2.0;
//! #     }
//! # }
//! # // The PTX names the kernel. The CPU does not use its code.
//! # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry halve() { ret; }";
//!
//! // `static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));`
//!
//! fn main() -> CudaResult<()> {
//! #   // SAFETY: nothing else runs yet.
//! #   unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//!     let _context = cust::quick_init()?;
//!     let module = Module::from_ptx(PTX, &[])?;
//!     let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!     let data = [1.0_f32, 2.0, 3.0].as_dbuf()?;
//!
//!     // SAFETY: the kernel takes one slice and stays within it.
//!     unsafe { launch!(module.halve<<<1, 256, 0, stream>>>(data.as_device_ptr(), data.len())) }?;
//!     stream.synchronize()?;
//!     assert_eq!(data.as_host_vec()?, [0.5, 1.0, 1.5]);
//!     Ok(())
//! }
//! ```
//!
//! # Limits
//! - The crate has no runtime API (`cuda*`), no NVTX and none of the OptiX parts of rust-cuda.
//! - On the CPU a process has one device for launches by name, and modules share their constants.
//! - A [`typed::Buffer`] holds fewer than 2³² elements. [`memory::DeviceBuffer`] has no such limit.

mod backend;
pub mod context;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod typed;
pub mod util;

pub use backend::{BACKEND_VARIABLE, Backend, backend};
pub use cust_derive::DeviceCopy;
pub use cust_raw::driver_sys as sys;
pub use cust_raw::{LIBRARY_VARIABLE, driver, missing_symbols};

/// Initialises the driver and makes the first device's primary context current on this thread.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::DeviceBuffer;
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
/// assert_eq!(buffer.as_host_vec()?, [1, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Errors
/// Returns `NoDevice` if there is no GPU and [`backend`] is [`Backend::Gpu`], or the driver's error.
#[must_use = "keep the context; after it is dropped, calls fail"]
pub fn quick_init() -> error::CudaResult<context::Context> {
    context::Context::new(device::Device::get_device(0)?)
}

/// Items that the exported macros use. They are not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use linkme;
}
