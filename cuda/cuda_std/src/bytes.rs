//! `memcmp` and `bcmp`, which `core` calls to compare slices of bytes and the GPU does not have.
//!
//! LLVM itself makes loops of copies and fills, so `memcpy` and its like are never called.

use core::ffi::c_int;

/// The type of both.
type Compare = unsafe extern "C" fn(*const u8, *const u8, usize) -> c_int;

/// Names both functions, so that they are in this crate's bitcode although nothing here calls them.
/// With their linkage the final module has them only if something there does.
#[doc(hidden)]
pub static COMPARISONS: [Compare; 2] = [memcmp, bcmp];

/// Compares `n` bytes as unsigned numbers: negative, 0 or positive, as the first difference is.
///
/// # Safety
/// Both pointers are readable for `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    let mut at = 0;
    while at < n {
        // SAFETY: inside, as the caller vouches.
        let (a, b) = unsafe { (a.add(at).read(), b.add(at).read()) };
        if a != b {
            return c_int::from(a) - c_int::from(b);
        }
        at += 1;
    }
    0
}

/// Compares `n` bytes: 0 if they are equal.
///
/// # Safety
/// Both pointers are readable for `n` bytes.
#[unsafe(no_mangle)]
#[linkage = "linkonce_odr"]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { memcmp(a, b, n) }
}
