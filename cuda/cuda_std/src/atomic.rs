//! Atomic operations on memory that several threads share.
//!
//! - [`AtomicF32`], [`AtomicU32`] and so on are cells like those of `core::sync::atomic`, with the
//!   same orderings, for the threads of one GPU. `Block…` cells are for the threads of one block,
//!   and `System…` cells for the threads of all GPUs and of the host.
//! - [`AtomicValue`] has the same operations on pointers, with the scope as a type parameter.
//! - [`AtomicAdd`], [`AtomicMinMax`], [`AtomicBits`] and [`AtomicExchange`] have shorter calls for
//!   pointers to global memory, always with device scope and relaxed ordering. These operations do
//!   not order other memory accesses.
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
pub use scope::{Block, Device, Scope, System, fence};
pub use scoped::AtomicValue;

/// A type with atomic addition.
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Buffer, Device, LaunchConfig};
/// use cuda_std::atomic::AtomicAdd;
///
/// /// Counts how often each byte value occurs.
/// #[kernel(dims(1))]
/// pub fn histogram(bytes: Slice<u8>, counts: SliceMut<u32>) {
///     if let Some(byte) = bytes.get(thread::index_1d()) {
///         // SAFETY: `counts` has 256 elements, and all accesses to them are atomic.
///         unsafe { AtomicAdd::atomic_add(counts.atomic(byte.into()), 1) };
///     }
/// }
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let bytes = Buffer::from_slice(&stream, b"abracadabra")?;
/// let mut counts = Buffer::<u32>::new(&device, 256)?;
/// let histogram = Histogram { bytes: bytes.view(), counts: counts.view_mut() };
/// stream.launch(&LaunchConfig::for_1d(bytes.len(), 256), &histogram)?;
/// let counts = counts.download(&stream)?;
/// assert_eq!((counts[usize::from(b'a')], counts[usize::from(b'b')]), (5, 2));
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
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

/// A type with atomic bitwise operations.
pub trait AtomicBits: Copy {
    /// Stores the bitwise "and" of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_and(at: *mut Self, value: Self) -> Self;

    /// Stores the bitwise "or" of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_or(at: *mut Self, value: Self) -> Self;

    /// Stores the bitwise "exclusive or" of `*at` and `value` in `*at` and returns the previous
    /// value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_xor(at: *mut Self, value: Self) -> Self;
}

/// A type that can be exchanged atomically.
pub trait AtomicExchange: Copy {
    /// Stores `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_exchange(at: *mut Self, value: Self) -> Self;

    /// Stores `new` in `*at` if `*at` has the bits of `current`. Returns the previous value in both
    /// cases.
    ///
    /// # Safety
    /// See [`AtomicAdd::atomic_add`].
    unsafe fn atomic_cas(at: *mut Self, current: Self, new: Self) -> Self;
}

/// Defines a method that is one `atom.global` instruction on the GPU, and a call of the standard
/// library's atomic on the CPU.
macro_rules! operation {
    ($name:ident, $type:ty, $ptx:literal, $register:ident, $atomic:ident :: $method:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $name(at: *mut Self, value: Self) -> Self {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                let old: $type;
                core::arch::asm!(concat!("atom.global.", $ptx, " {}, [{}], {};"),
                    out($register) old, in(reg64) at, in($register) value, options(nostack));
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                use core::sync::atomic::{$atomic, Ordering::Relaxed};
                scoped::noted::<Self>(at, false, Relaxed);
                $atomic::from_ptr(at).$method(value, Relaxed)
            }
        }
    };
}

/// Implements addition, minimum and maximum for an integer type. PTX has no `add.s64`, but
/// `add.u64` wraps to the same bits.
macro_rules! integer {
    ($type:ty, $add:literal, $min:literal, $max:literal, $register:ident, $atomic:ident) => {
        impl AtomicAdd for $type {
            operation!(atomic_add, $type, $add, $register, $atomic::fetch_add);
        }

        impl AtomicMinMax for $type {
            operation!(atomic_min, $type, $min, $register, $atomic::fetch_min);
            operation!(atomic_max, $type, $max, $register, $atomic::fetch_max);
        }
    };
}

integer!(u32, "add.u32", "min.u32", "max.u32", reg32, AtomicU32);
integer!(i32, "add.s32", "min.s32", "max.s32", reg32, AtomicI32);
integer!(u64, "add.u64", "min.u64", "max.u64", reg64, AtomicU64);
integer!(i64, "add.u64", "min.s64", "max.s64", reg64, AtomicI64);

/// Implements a trait's methods with the [`AtomicValue`] methods of the given names, at device
/// scope and with relaxed ordering.
macro_rules! relaxed {
    ($trait:ident for $type:ty: $($name:ident = $method:ident),+) => {
        impl $trait for $type {$(
            #[inline(always)]
            #[track_caller]
            unsafe fn $name(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { <$type as AtomicValue>::$method::<Device>(at, value, Ordering::Relaxed) }
            }
        )+}
    };
    ($($type:ty),+) => {$(
        relaxed!(AtomicBits for $type: atomic_and = fetch_and, atomic_or = fetch_or,
            atomic_xor = fetch_xor);
    )+};
}

relaxed!(u32, i32, u64, i64);
relaxed!(AtomicMinMax for f32: atomic_min = fetch_min, atomic_max = fetch_max);
relaxed!(AtomicMinMax for f64: atomic_min = fetch_min, atomic_max = fetch_max);

impl<T: AtomicValue> AtomicExchange for T {
    #[inline(always)]
    #[track_caller]
    unsafe fn atomic_exchange(at: *mut Self, value: Self) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { Self::exchange::<Device>(at, value, Ordering::Relaxed) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn atomic_cas(at: *mut Self, current: Self, new: Self) -> Self {
        let relaxed = Ordering::Relaxed;
        // SAFETY: the caller upholds this function's safety contract.
        let old = unsafe { Self::compare_exchange::<Device>(at, current, new, relaxed, relaxed) };
        match old {
            Ok(old) | Err(old) => old,
        }
    }
}

/// Implements [`AtomicAdd`] for a float type.
macro_rules! float_add {
    ($type:ident, $ptx:literal, $register:ident) => {
        impl AtomicAdd for $type {
            /// Adds `value` to `*at` and returns the previous value. The order of additions by
            /// several threads, and therefore the rounding, differs from run to run.
            #[inline(always)]
            #[track_caller]
            unsafe fn atomic_add(at: *mut Self, value: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let old: Self;
                    core::arch::asm!(concat!("atom.global.add.", $ptx, " {}, [{}], {};"),
                        out($register) old, in(reg64) at, in($register) value, options(nostack));
                    old
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    Self::fetch_add::<Device>(at, value, Ordering::Relaxed)
                }
            }
        }
    };
}

float_add!(f32, "f32", reg32);
float_add!(f64, "f64", reg64);
