//! What the driver refuses, and why there may be no driver at all.

use crate::driver_sys::CUresult;

/// What the driver gives: a code other than `CUDA_SUCCESS` is the error.
pub type DriverResult<T = ()> = Result<T, CUresult>;

/// The CUDA driver library could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The loader did not find the driver, or could not load what it found.
    #[error(
        "no CUDA driver can be loaded ({message}); install NVIDIA's driver, or start the container \
         with `--gpus all`"
    )]
    NotLoaded {
        /// What the loader said.
        message: String,
    },
    /// The library that the environment names could not be loaded.
    #[error(
        "the library that {variable} names could not be loaded: {message}. Correct the variable, \
         or unset it to use the installed driver",
        variable = crate::LIBRARY_VARIABLE
    )]
    OverrideNotLoaded {
        /// What the loader said.
        message: String,
    },
    /// A library was loaded, but it has no `cuInit`.
    #[error(
        "{library} is not a CUDA driver: it has no cuInit. Look for a stale file of that name in \
         the loader's path (LD_LIBRARY_PATH), or correct {variable} if it is set",
        variable = crate::LIBRARY_VARIABLE
    )]
    NotADriver {
        /// The library as it was asked for.
        library: String,
    },
}
