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
pub type DriverResult<T = ()> = Result<T, CUresult>;

/// The reason why the CUDA driver library could not be loaded: a message with the loader's reason and
/// a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DriverError(pub(crate) String);
