//! A driver that uses the CPU: the functions of NVIDIA's driver that the API calls, implemented in
//! host memory.
//!
//! There is one device. Its kernels are the ones linked into the program. Work is done when it is
//! submitted, so a stream is always idle and an event is done as soon as it is recorded. Addresses
//! are host addresses. Each copy, fill and free is checked against the allocations and returns
//! `CUDA_ERROR_INVALID_VALUE` where a GPU's driver would.
//!
//! A kernel's fault does not end the device as it does on a GPU: the launch returns the fault, and
//! later launches are unaffected.
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "they are the driver's")]
#![allow(clippy::missing_safety_doc, reason = "what NVIDIA's manual asks of the arguments")]

mod array;
mod context;
mod copy;
mod device;
mod graph;
mod memory;
mod module;
mod stream;
mod texture;

pub(crate) use array::*;
pub(crate) use context::*;
pub(crate) use copy::*;
pub(crate) use device::*;
pub(crate) use graph::*;
pub(crate) use memory::*;
pub(crate) use module::*;
pub(crate) use stream::*;
pub(crate) use texture::*;
