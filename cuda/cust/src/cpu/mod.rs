//! A driver made of the CPU: the functions of NVIDIA's driver that the API calls, done to host memory.
//!
//! There is one device, whose kernels are those that the program links. Work is done when it is
//! submitted, so a stream is always idle and an event passes when it is recorded. Addresses are those of
//! host memory; each copy, fill and free is checked against the allocations, and what a GPU would answer
//! with `CUDA_ERROR_INVALID_VALUE` is answered so here.
//!
//! A kernel's fault does not end the device as it ends a GPU: the launch returns it, and the next launch
//! is none the worse.
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
