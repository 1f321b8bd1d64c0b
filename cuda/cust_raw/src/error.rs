//! The result type of driver calls, and the errors of loading the driver library.
//!
//! ```
//! use cust_raw::driver_sys::CUresult;
//! use cust_raw::error::DriverResult;
//!
//! fn initialise() -> DriverResult<&'static str> {
//!     cust_raw::init()?;
//!     Ok("there is a device")
//! }
//!
//! match initialise() {
//!     Ok(text) => println!("{text}"),
//!     Err(error) => assert_ne!(error, CUresult::CUDA_SUCCESS),
//! }
//! ```

use crate::driver_sys::CUresult;

/// The result of a driver call. A code other than `CUDA_SUCCESS` is an error.
///
/// ```
/// use cust_raw::driver_sys::CUresult;
/// use cust_raw::error::DriverResult;
///
/// let result: DriverResult = CUresult::CUDA_ERROR_OUT_OF_MEMORY.to_result();
/// assert_eq!(result, Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
/// ```
pub type DriverResult<T = ()> = Result<T, CUresult>;

/// The reason why the CUDA driver library could not be loaded.
///
/// ```
/// use cust_raw::error::DriverError;
///
/// let error = DriverError::NotLoaded { message: "libcuda.so.1: not found".to_owned() };
/// assert!(error.to_string().starts_with("cannot load a CUDA driver (libcuda.so.1: not found)"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The dynamic loader did not find the driver library or could not load it.
    #[error(
        "cannot load a CUDA driver ({message}); install NVIDIA's driver, or start the container \
         with `--gpus all`"
    )]
    NotLoaded {
        /// The loader's message.
        message: String,
    },
    /// The program is linked statically, so it has no dynamic loader that could load the driver.
    #[error(
        "this program is linked statically and cannot load a CUDA driver; use a build that is linked \
         with the system's C library"
    )]
    Static,
    /// The library that [`LIBRARY_VARIABLE`](crate::LIBRARY_VARIABLE) names could not be loaded.
    #[error(
        "cannot load the library named in {variable}: {message}; correct the variable, or unset it \
         to use the installed driver",
        variable = crate::LIBRARY_VARIABLE
    )]
    OverrideNotLoaded {
        /// The loader's message.
        message: String,
    },
    /// The loaded library has no `cuInit`.
    #[error(
        "{library} is not a CUDA driver: it has no cuInit; remove the file of that name from the \
         loader's path (LD_LIBRARY_PATH), or correct {variable} if it is set",
        variable = crate::LIBRARY_VARIABLE
    )]
    NotADriver {
        /// The requested library.
        library: String,
    },
}
