//! The items that a program needs to launch kernels by name, for `use cust::prelude::*`.

pub use crate::context::Context;
pub use crate::device::Device;
pub use crate::event::{Event, EventFlags, EventStatus};
pub use crate::function::Function;
pub use crate::launch;
pub use crate::memory::{CopyDestination, DeviceBuffer, DevicePointer, UnifiedBuffer};
pub use crate::module::Module;
pub use crate::stream::{Stream, StreamFlags};
pub use crate::util::SliceExt;
