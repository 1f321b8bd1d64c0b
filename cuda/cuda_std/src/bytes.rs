//! `memcmp` and `bcmp` for the GPU, which has no C library. `core` calls these functions to compare
//! byte slices.
//!
//! LLVM expands copies and fills to loops, so `memcpy` and similar functions are never called.

use core::ffi::c_int;

/// The type of `memcmp` and `bcmp`.
type Compare = unsafe extern "C" fn(*const u8, *const u8, usize) -> c_int;

/// References to `memcmp` and `bcmp`. They keep both functions in this crate's bitcode, although no
/// code of this crate calls them. Because of the linkage `linkonce_odr`, the final module contains
/// a function only if code of that module calls it.
#[doc(hidden)]
pub static COMPARISONS: [Compare; 2] = [memcmp, bcmp];

/// Compares `n` bytes as unsigned numbers. Returns the byte of `a` minus the byte of `b` at the
/// first difference, or 0 if there is none.
///
/// # Safety
/// Both pointers must be valid for reads of `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    let mut at = 0;
    while at < n {
        // SAFETY: `at < n`, and the caller guarantees that `n` bytes are readable at `a` and at
        // `b`.
        let (a, b) = unsafe { (a.add(at).read(), b.add(at).read()) };
        if a != b {
            return c_int::from(a) - c_int::from(b);
        }
        at += 1;
    }
    0
}

/// Compares `n` bytes. Returns 0 if all are equal, and another number otherwise.
///
/// # Safety
/// Both pointers must be valid for reads of `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { memcmp(a, b, n) }
}
