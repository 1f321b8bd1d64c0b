//! `memcmp` and `bcmp`. `core` calls them to compare byte slices, and the GPU does not have them.
//!
//! LLVM expands copies and fills to loops, so `memcpy` and similar functions are never called.

use core::ffi::c_int;

/// The type of both functions.
type Compare = unsafe extern "C" fn(*const u8, *const u8, usize) -> c_int;

/// References to both functions. They keep the functions in this crate's bitcode although nothing
/// here calls them. Because of their linkage, the final module contains them only if something in
/// it calls them.
#[doc(hidden)]
pub static COMPARISONS: [Compare; 2] = [memcmp, bcmp];

/// Compares `n` bytes as unsigned numbers. Returns the first difference, or 0 if there is none.
///
/// # Safety
/// Both pointers must be valid for reads of `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    let mut at = 0;
    while at < n {
        // SAFETY: `at < n`, and the caller guarantees `n` readable bytes.
        let (a, b) = unsafe { (a.add(at).read(), b.add(at).read()) };
        if a != b {
            return c_int::from(a) - c_int::from(b);
        }
        at += 1;
    }
    0
}

/// Compares `n` bytes. Returns 0 if they are equal.
///
/// # Safety
/// Both pointers must be valid for reads of `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { memcmp(a, b, n) }
}
