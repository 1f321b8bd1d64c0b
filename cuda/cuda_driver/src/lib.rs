//! One binary that starts everywhere: with an NVIDIA driver, without one, with an older one.
//!
//! `cust` calls the CUDA driver as ordinary external functions, so a program that uses it needs
//! `libcuda.so` when it is linked and `libcuda.so.1` before its first line runs. This crate exports
//! every `cu*` function that `cust_raw` declares as a trampoline that looks for `libcuda.so.1` on
//! the first call. Building needs no CUDA, and a missing driver is an ordinary `Err`.
//!
//! # What a call returns
//! | machine | a `cu*` call |
//! |---|---|
//! | driver present | what the driver returns; one indirect jump more than a direct call |
//! | driver older than the function | `CUDA_ERROR_NOT_FOUND` (500) |
//! | no driver, or not loadable | `CUDA_ERROR_NO_DEVICE` (100); [`driver`] has the loader's reason |
//!
//! `cuGetErrorName` and `cuGetErrorString` always succeed: `cust` calls them to print an error, and
//! a failure there would turn a printed error into a panic.
//!
//! # How to embed it
//! 1. Depend on `cuda_driver` beside `cust`, and call [`driver`] before the first CUDA call: it is
//!    the better error message, and the reference that makes the linker take the trampolines.
//!    (A crate that never calls it writes `use cuda_driver as _;`.)
//! 2. Give `cust`'s build script a folder in `CUDA_LIBRARY_PATH`: the `link` folder of this crate,
//!    whose `lib64/libcuda.so` is an empty linker script, or a real CUDA installation. Both work:
//!    the trampolines win over a real `libcuda.so`, which is then not recorded as needed.
//!
//! A plugin (`cdylib`) exports the trampolines too. In a process that has the real driver among
//! its global symbols, `cust` in the plugin then calls that driver directly, which is as good.
//!
//! # Tests and fault injection
//! [`LIBRARY_VARIABLE`] names another library to load. Symbols are looked up in it and then in the
//! libraries it was itself linked with, so a shim that defines one function and is linked with
//! `libcuda.so.1` replaces exactly that function. It is read once, at the first `cu*` call or at
//! the first call into this crate, whichever comes first.
//!
//! # What it does not do
//! - It does not call `cuInit`, choose a device or wrap the API: that is `cust`.
//! - It never closes or reloads the library, and a driver installed later needs a new process.
//! - It does not cover what `cust_raw` does not declare, nor the runtime API (`cuda*`).
//! - It is for Linux on x86-64 and aarch64. Do not use it in a set-uid program: the variable above
//!   is honoured there too.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("cuda_driver has trampolines for Linux on x86-64 and aarch64 only");

mod arch;
mod error;
mod fallback;
mod info;
mod library;
mod names;
mod resolve;
mod trampolines;

pub use error::DriverError;
pub use info::{DriverInfo, driver, exported_symbols, missing_symbols};
pub use library::{DEFAULT_LIBRARY, LIBRARY_VARIABLE};
