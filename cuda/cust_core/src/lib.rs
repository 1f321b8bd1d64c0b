//! [`DeviceCopy`], the trait of types that can be copied to a GPU byte by byte, and its derive
//! macro.
//!
//! Both host crates and kernel crates depend on this crate, so it is `no_std` and contains nothing
//! else.
//!
//! ```
//! use cust_core::DeviceCopy;
//!
//! #[derive(Clone, Copy, DeviceCopy)]
//! #[repr(C)]
//! struct Ramp {
//!     start: f32,
//!     step: f32,
//! }
//!
//! /// Returns the size of one element in device memory.
//! fn bytes<T: DeviceCopy>() -> usize {
//!     size_of::<T>()
//! }
//!
//! assert_eq!(bytes::<Ramp>(), 8);
//! ```
#![no_std]

mod device_copy;
mod impls;

pub use cust_derive::DeviceCopyCore as DeviceCopy;
pub use device_copy::DeviceCopy;

/// Exports the trait without the derive macro of the same name. The crate `cust` re-exports this
/// trait with a derive macro of its own.
#[doc(hidden)]
pub mod _hidden {
    pub use crate::device_copy::DeviceCopy;
}
