//! Atomic operations on memory that several threads share.
//!
//! - [`AtomicF32`], [`AtomicU32`] and so on are cells like those of `core::sync::atomic`, with the
//!   same orderings, for the threads of one GPU. `Block…` cells are for the threads of one block,
//!   and `System…` cells for the threads of all GPUs and of the host.
//! - [`AtomicValue`] has the same operations on pointers, with the scope as a type parameter.
//! - [`AtomicAdd`] and [`AtomicMinMax`] have shorter calls for pointers to global memory, always with
//!   device scope and relaxed ordering. These operations do not order other memory accesses.
//!
//! Use these instead of `core::sync::atomic` on the GPU. LLVM 22 drops the ordering of `fetch_add`
//! and most other read-modify-writes on this target.
//!
//! ```
//! use cuda_std::atomic::{AtomicAdd, AtomicU32, Ordering::Relaxed};
//! use cuda_std::cpu::{Launch, launch};
//! use cuda_std::thread;
//!
//! let even = AtomicU32::new(0);
//! launch(&Launch::new("count", [4, 1, 1], [64, 1, 1]), &|| {
//!     if thread::index_1d().is_multiple_of(2) {
//!         even.fetch_add(1, Relaxed);
//!     }
//! })?;
//! assert_eq!(even.into_inner(), 128);
//!
//! let mut sum = 1.5;
//! // SAFETY: the pointer is valid, and no other thread has it.
//! let before = unsafe { AtomicAdd::atomic_add(&raw mut sum, 2.0) };
//! assert_eq!((before, sum), (1.5, 3.5));
//! # Ok::<(), cuda_std::cpu::Fault>(())
//! ```

mod cell;
mod scope;
mod scoped;

pub use cell::{
    Atomic, AtomicF32, AtomicF64, AtomicI32, AtomicI64, AtomicU32, AtomicU64, BlockAtomicF32,
    BlockAtomicF64, BlockAtomicI32, BlockAtomicI64, BlockAtomicU32, BlockAtomicU64,
    SystemAtomicF32, SystemAtomicF64, SystemAtomicI32, SystemAtomicI64, SystemAtomicU32,
    SystemAtomicU64,
};
pub use core::sync::atomic::Ordering;
pub use scope::{Block, Device, Scope, System};
pub use scoped::AtomicValue;

/// A type with atomic addition.
pub trait AtomicAdd: Copy {
    /// Adds `value` to `*at` and returns the previous value. Integers wrap.
    ///
    /// # Safety
    /// - `at` must point to global memory, and be aligned and valid for reads and writes.
    /// - All concurrent accesses to `*at` must be atomic.
    unsafe fn atomic_add(at: *mut Self, value: Self) -> Self;
}

/// A type with atomic minimum and maximum.
pub trait AtomicMinMax: Copy {
    /// Stores the smaller of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_min(at: *mut Self, value: Self) -> Self;

    /// Stores the larger of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_max(at: *mut Self, value: Self) -> Self;
}

/// Implements a trait. Each method is one `atom.global` instruction on the GPU. The CPU calls a method
/// of [`AtomicValue`].
macro_rules! global {
    ($trait:ident for $type:ty, $register:ident: $($name:ident = $method:ident $ptx:literal),+) => {
        impl $trait for $type {$(
            #[inline(always)]
            #[track_caller]
            unsafe fn $name(at: *mut Self, value: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let old: Self;
                    core::arch::asm!(concat!("atom.global.", $ptx, " {}, [{}], {};"),
                        out($register) old, in(reg64) at, in($register) value, options(nostack));
                    old
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    Self::$method::<Device>(at, value, Ordering::Relaxed)
                }
            }
        )+}
    };
}

// PTX has no `add.s64`, but `add.u64` wraps to the same bits. The order of additions by several threads,
// and therefore the rounding of floats, differs from run to run.
global!(AtomicAdd for u32, reg32: atomic_add = fetch_add "add.u32");
global!(AtomicAdd for i32, reg32: atomic_add = fetch_add "add.s32");
global!(AtomicAdd for u64, reg64: atomic_add = fetch_add "add.u64");
global!(AtomicAdd for i64, reg64: atomic_add = fetch_add "add.u64");
global!(AtomicAdd for f32, reg32: atomic_add = fetch_add "add.f32");
global!(AtomicAdd for f64, reg64: atomic_add = fetch_add "add.f64");
global!(AtomicMinMax for u32, reg32:
    atomic_min = fetch_min "min.u32", atomic_max = fetch_max "max.u32");
global!(AtomicMinMax for i32, reg32:
    atomic_min = fetch_min "min.s32", atomic_max = fetch_max "max.s32");
global!(AtomicMinMax for u64, reg64:
    atomic_min = fetch_min "min.u64", atomic_max = fetch_max "max.u64");
global!(AtomicMinMax for i64, reg64:
    atomic_min = fetch_min "min.s64", atomic_max = fetch_max "max.s64");
