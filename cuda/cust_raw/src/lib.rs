//! The CUDA driver API for programs that start everywhere: with an NVIDIA driver, without one, with an
//! older one.
//!
//! Each function of [`driver_sys`] looks for itself in `libcuda.so.1` when it is first called. A build
//! needs no CUDA, and a missing driver is an ordinary error. The names are those of rust-cuda's
//! `cust_raw`, which links the library and so needs CUDA to build.
//!
//! # What a call returns
//! | machine | a function of [`driver_sys`] |
//! |---|---|
//! | driver present | the driver's result; the call costs one atomic load and an indirect call |
//! | driver older than the function | `CUDA_ERROR_NOT_FOUND` (500) |
//! | no driver, or not loadable | `CUDA_ERROR_NO_DEVICE` (100); [`driver`] has the loader's reason |
//!
//! [`driver_sys::CUresult::to_result`] makes a `Result` of it.
//!
//! # Tests and fault injection
//! [`LIBRARY_VARIABLE`] names another library to load. Symbols are looked up in it and then in the
//! libraries it was itself linked with, so a shim that defines one function and is linked with
//! `libcuda.so.1` replaces exactly that function. The variable is read once, at the first call.
//!
//! # Limits
//! - The crate declares the functions of the driver API that the kit calls, and not the runtime API
//!   (`cuda*`). One more is a line in `driver_sys/functions.rs`.
//! - The library is never closed or loaded again; a driver that is installed later needs a new process.
//! - A set-uid program honours the variable too: do not use this crate in one.

#[cfg(not(unix))]
compile_error!("the driver is loaded by `dlopen`, which this system does not have");

mod driver;
pub mod driver_sys;
pub mod error;
mod library;

pub use driver::{DriverInfo, driver, missing_symbols};
pub use library::{DEFAULT_LIBRARY, LIBRARY_VARIABLE};

/// Initialises the driver; a program calls it before it asks the driver for anything else, as often as
/// it likes.
///
/// # Errors
/// `CUDA_ERROR_NO_DEVICE` without a device, or another error of the driver.
pub fn init() -> error::DriverResult {
    // SAFETY: no preconditions.
    unsafe { driver_sys::cuInit(0) }.to_result()
}
