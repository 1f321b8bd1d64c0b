//! The CUDA driver API for programs that must start on any machine: with an NVIDIA driver, without
//! one, or with an older one.
//!
//! On its first call, each function of [`driver_sys`] looks up the driver's function of the same
//! name in `libcuda.so.1`. A build needs no CUDA, and a missing driver is an ordinary error. The
//! names match rust-cuda's `cust_raw`, which links the library and therefore needs CUDA to build.
//!
//! ```
//! use cust_raw::driver_sys::{CUresult, cuDeviceGetCount};
//!
//! let mut count = 0;
//! let result = match cust_raw::init() {
//!     // SAFETY: the driver writes the number to a local variable.
//!     Ok(()) => unsafe { cuDeviceGetCount(&raw mut count) }.to_result(),
//!     Err(error) => Err(error),
//! };
//! match result {
//!     Ok(()) => println!("{count} devices"),
//!     Err(CUresult::CUDA_ERROR_NO_DEVICE) => println!("no driver, or no device"),
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! # Results of a call
//! | machine | result of a function of [`driver_sys`] |
//! |---|---|
//! | driver present | the driver's result; the call costs one atomic load and an indirect call |
//! | driver older than the function | `CUDA_ERROR_NOT_FOUND` (500) |
//! | no driver, or not loadable | `CUDA_ERROR_NO_DEVICE` (100); [`driver`] has the loader's reason |
//!
//! [`driver_sys::CUresult::to_result`] converts the code to a `Result`.
//!
//! # Tests and fault injection
//! [`LIBRARY_VARIABLE`] names another library to load. Symbols are looked up in that library and
//! then in the libraries it is linked with. A shim that defines one function and is linked with
//! `libcuda.so.1` therefore replaces exactly that function. The variable is read once, at the first
//! call.
//!
//! # Limits
//! - The crate declares the driver API functions that the kit calls, but not the runtime API
//!   (`cuda*`). Adding a function takes a line in `driver_sys/functions.rs`.
//! - The library is never closed or loaded again, so a driver that is installed later needs a new
//!   process.
//! - The variable also takes effect in a set-uid program, which would then load any library that
//!   its caller names. Do not use this crate in such a program.

#[cfg(not(unix))]
compile_error!("the driver is loaded by `dlopen`, which this system does not have");

mod driver;
pub mod driver_sys;
pub mod error;
mod library;

pub use driver::{DriverInfo, driver, missing_symbols};
pub use library::{DEFAULT_LIBRARY, LIBRARY_VARIABLE};

/// Initialises the driver. Call it before any other driver function; repeated calls are allowed.
///
/// ```
/// match cust_raw::init() {
///     Ok(()) => println!("there is a device"),
///     Err(error) => println!("{}", error.name()),
/// }
/// ```
///
/// # Errors
/// Returns `CUDA_ERROR_NO_DEVICE` if there is no device, or another error of the driver.
pub fn init() -> error::DriverResult {
    // SAFETY: the call has no preconditions.
    unsafe { driver_sys::cuInit(0) }.to_result()
}
