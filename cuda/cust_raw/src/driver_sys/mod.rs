//! The driver's functions, types and constants under their own names, as `cuda.h` has them.
//!
//! Only what this project uses; more is a line in `functions` or `types` each. What a function asks
//! for and does is in NVIDIA's manual of the driver API.
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
/// The name of the enum behind the `typedef`, which rust-cuda's bindings have too.
pub use result::CUresult as cudaError_enum;
pub use types::*;
