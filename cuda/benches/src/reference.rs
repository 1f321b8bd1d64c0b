//! Opens the shared libraries that contain the CUDA C++ implementations.

use std::env;
use std::ffi::c_int;
use std::path::Path;

use libloading::Library;

use crate::Failure;

/// A shared library that `reference/compile.sh` has built from `reference/NAME.cu`, or nothing if
/// there is none. The library stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Reference(Option<&'static Library>);

impl Reference {
    /// Opens `NAME.so` in the folder that the environment variable `CUDA_BENCH_REFERENCE` names. If
    /// the variable is not set or the library cannot be opened, prints a line and returns a
    /// `Reference` without functions.
    #[must_use]
    pub fn open(name: &str) -> Self {
        let Some(folder) = env::var_os("CUDA_BENCH_REFERENCE") else {
            println!("no CUDA C++ to compare with: CUDA_BENCH_REFERENCE is not set");
            return Self(None);
        };
        let file = Path::new(&folder).join(format!("{name}.so"));
        // SAFETY: the libraries of this bench run no code when they are loaded, apart from the
        // registration of their kernels with the CUDA runtime.
        match unsafe { Library::new(&file) } {
            Ok(library) => Self(Some(Box::leak(Box::new(library)))),
            Err(error) => {
                println!("no CUDA C++ to compare with: {}: {error}", file.display());
                Self(None)
            }
        }
    }

    /// Returns the function called `name`, or `None` if the library is not loaded or lacks it.
    ///
    /// # Safety
    /// `F` must be the type of the function: `unsafe extern "C" fn(…) -> c_int`.
    #[must_use]
    pub unsafe fn function<F: Copy>(self, name: &str) -> Option<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { self.0?.get::<F>(name) }.ok().map(|function| *function)
    }
}

/// Turns the result of a function of a [`Reference`], a `cudaError_t` or the status of a library,
/// into a `Result`.
///
/// # Errors
/// Returns an error if the code is not 0.
pub fn check(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(format!("the reference returned the error {code}").into()) }
}
