//! The driver's functions, types and constants under their names in `cuda.h`.
//!
//! Contains only the parts that this project uses. To add a part, add its declaration to
//! `functions` or `types`. NVIDIA's manual of the driver API documents the requirements and effects
//! of the functions.
//!
//! ```
//! use cust_raw::driver_sys::{cuDeviceGet, cuDeviceGetName, cuInit};
//!
//! /// Returns the name of the first device.
//! fn name() -> cust_raw::error::DriverResult<String> {
//!     let (mut device, mut name) = (0, [0; 64]);
//!     // SAFETY: the driver writes to local variables, and at most 64 bytes to `name`.
//!     unsafe {
//!         cuInit(0).to_result()?;
//!         cuDeviceGet(&raw mut device, 0).to_result()?;
//!         cuDeviceGetName(name.as_mut_ptr(), 64, device).to_result()?;
//!     }
//!     let bytes = name.map(|byte| byte as u8);
//!     Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
//! }
//!
//! match name() {
//!     Ok(name) => println!("{name}"),
//!     Err(error) => println!("{error}"),
//! }
//! ```
#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the driver's own names, which NVIDIA's manual explains"
)]

mod bind;
mod functions;
mod result;
mod types;

pub use functions::*;
pub use result::CUresult;
/// The name of the C enum for which `cuda.h` defines the `typedef` `CUresult`. rust-cuda's bindings
/// export this name too.
pub use result::CUresult as cudaError_enum;
pub use types::*;
