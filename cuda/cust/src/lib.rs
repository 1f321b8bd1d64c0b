//! GPU or CPU: memory, streams and kernel launches from Rust, with rust-cuda's names.

pub mod context;
pub mod device;
pub mod typed;

pub use cust_raw::driver_sys as sys;
pub use cust_raw::{
    DEFAULT_LIBRARY, DriverInfo, LIBRARY_VARIABLE, driver, error, init, missing_symbols,
};

/// What the macros expand to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use linkme;
}
