//! The CUDA driver API for programs that start everywhere: with an NVIDIA driver, without one, with an
//! older one.
//!
//! The names are those of rust-cuda's `cust`; it is written here because that one links `libcuda` and
//! so needs CUDA to build. Here each function of [`sys`] looks for itself in `libcuda.so.1` when it is
//! first called. Building needs no CUDA, and a missing driver is an ordinary error.
//!
//! # What a call returns
//! | machine | a function of [`sys`] |
//! |---|---|
//! | driver present | what the driver returns; costs one atomic load and an indirect call |
//! | driver older than the function | `CUDA_ERROR_NOT_FOUND` (500) |
//! | no driver, or not loadable | `CUDA_ERROR_NO_DEVICE` (100); [`driver`] has the loader's reason |
//!
//! [`sys::CUresult::to_result`] makes a `Result` of it.
//!
//! # Tests and fault injection
//! [`LIBRARY_VARIABLE`] names another library to load. Symbols are looked up in it and then in the
//! libraries it was itself linked with, so a shim that defines one function and is linked with
//! `libcuda.so.1` replaces exactly that function. It is read once, at the first call.
//!
//! # What it does not do
//! - It wraps little: [`device`] and [`context`]. Streams, memory and modules with their lifetimes and
//!   error texts are the host's own (`panoweave::device`).
//! - It declares the functions that this project calls, and not the runtime API (`cuda*`).
//! - It never closes or reloads the library; a driver installed later needs a new process.
//! - Do not use it in a set-uid program: the variable above is honoured there too.

#[cfg(not(unix))]
compile_error!("the driver is loaded by `dlopen`, which this system does not have");

pub mod context;
pub mod device;
mod driver;
pub mod error;
mod library;
pub mod sys;

pub use driver::{DriverInfo, driver, missing_symbols};
pub use library::{DEFAULT_LIBRARY, LIBRARY_VARIABLE};

/// Initialises the driver; to be called before anything else is asked of it, as often as one likes.
///
/// # Errors
/// No device, or what the driver says.
pub fn init() -> error::CudaResult {
    // SAFETY: no preconditions.
    unsafe { sys::cuInit(0) }.to_result()
}
