//! Finds the address of one driver function and remembers it.
//!
//! Called once per function, or a few times where threads meet in its first call: they all find the
//! same address, so the order in which they store it does not matter.

use std::sync::atomic::Ordering;

use crate::fallback;
use crate::library::library;
use crate::trampolines::{NAMES, SLOTS};

/// The address that a call of function `index` goes to, also stored in its slot.
///
/// Called by `arch::cold` with the index that a trampoline loaded, so always within the tables.
pub(crate) extern "C" fn resolve(index: u32) -> *mut () {
    let index = index as usize;
    let name = NAMES[index];
    let address = match library() {
        Ok(library) => library.symbol(name).unwrap_or_else(|| fallback::missing_function(name)),
        Err(_) => fallback::missing_driver(name),
    };
    SLOTS[index].store(address, Ordering::Release);
    address
}
