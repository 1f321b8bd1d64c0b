//! The items that a program needs to launch kernels by name, for `use cust::prelude::*`.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init()?;
//! let data = [1.0_f32, 2.0].as_dbuf()?;
//! assert_eq!(data.as_host_vec()?, [1.0, 2.0]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

pub use crate::CudaFlags;
pub use crate::context::{Context, ContextFlags};
pub use crate::device::Device;
pub use crate::event::{Event, EventFlags, EventStatus};
pub use crate::function::Function;
pub use crate::launch;
pub use crate::memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice, UnifiedBuffer};
pub use crate::module::Module;
pub use crate::stream::{Stream, StreamFlags};
pub use crate::util::*;
