//! A driver for the CPU: implements the functions of NVIDIA's driver that the rust-cuda interface
//! calls, with host memory.
//!
//! There is one device. Its kernels are the kernels that are linked into the program. A call that
//! submits work returns when the work is done, so a stream is always idle and an event is done as
//! soon as it is recorded. Device addresses are host addresses. Each copy, fill and free is checked
//! against the allocations and returns `CUDA_ERROR_INVALID_VALUE` if a GPU's driver would return
//! that error.
//!
//! On a GPU, a kernel's fault makes the device unusable. On the CPU, only the launch returns an
//! error, and later launches are unaffected.
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "the driver's parameters")]
#![allow(clippy::missing_safety_doc, reason = "NVIDIA's manual states the requirements")]

mod context;
mod device;
mod memory;
mod module;
mod stream;

pub(crate) use context::*;
pub(crate) use device::*;
pub(crate) use memory::*;
pub(crate) use module::*;
pub(crate) use stream::*;
