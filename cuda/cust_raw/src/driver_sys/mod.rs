//! The driver's functions, types and constants under their names in `cuda.h`.
//!
//! Contains only the parts that this project uses. To add a part, add its declaration to
//! `functions` or `types`. NVIDIA's manual of the driver API documents the requirements and effects
//! of the functions.
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
