//! GPU or CPU: memory, streams and kernel launches from Rust, with rust-cuda's names.

pub mod context;
pub mod device;

pub use cust_raw::driver_sys as sys;
pub use cust_raw::{
    DEFAULT_LIBRARY, DriverInfo, LIBRARY_VARIABLE, driver, error, init, missing_symbols,
};
