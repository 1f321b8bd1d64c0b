//! The few instructions that differ between processors.
//!
//! Each file has `jump_through_slot!`, the body of one exported function, and `cold`, where a slot
//! points before its first call. The two agree on one register for the index of the function; it
//! is one that the C calling convention leaves to code between caller and callee.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{cold, jump_through_slot};

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{cold, jump_through_slot};
