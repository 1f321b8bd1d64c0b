//! Atomic operations with an ordering and a scope, on plain pointers.
//!
//! A scope is the set of threads for which an operation is atomic and ordered. A PTX instruction
//! states the ordering and the scope (`atom.acquire.gpu`). A sequentially consistent load or
//! read-modify-write is `fence.sc` followed by the acquire form, and a store is `fence.sc` followed
//! by the release form, as NVIDIA's mapping of the C++ memory model to PTX prescribes.
//! `core::sync::atomic` is not suitable, because LLVM 22 drops the ordering of most
//! read-modify-writes on this target.
//!
//! On the CPU, the scope makes no difference: the operations are the standard library's.

use core::sync::atomic::Ordering;

use super::scope::Scope;

mod sealed {
    pub trait Value {}
    impl Value for u32 {}
    impl Value for i32 {}
    impl Value for u64 {}
    impl Value for i64 {}
    impl Value for f32 {}
    impl Value for f64 {}
}

/// A 32- or 64-bit number with atomic operations: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
///
/// Integers wrap. On floats, `and`, `or`, `xor` and the comparison of
/// [`compare_exchange`](Self::compare_exchange) work on the bits, and `min` and `max` ignore a NaN
/// as [`f32::min`] does. On the GPU, an `f32` addition in global memory treats subnormals as zero.
///
/// ```
/// use cuda_std::atomic::{AtomicValue, Device, Ordering::Relaxed};
///
/// let mut value = 6_u32;
/// let at = &raw mut value;
/// // SAFETY: the pointer is valid, and no other thread has it.
/// unsafe {
///     assert_eq!(u32::fetch_add::<Device>(at, 4, Relaxed), 6);
///     assert_eq!(u32::fetch_sub::<Device>(at, 1, Relaxed), 10);
///     assert_eq!(u32::fetch_and::<Device>(at, 0b1100, Relaxed), 9);
///     assert_eq!(u32::fetch_or::<Device>(at, 0b0011, Relaxed), 8);
///     assert_eq!(u32::fetch_xor::<Device>(at, 0b0001, Relaxed), 11);
///     assert_eq!(u32::fetch_min::<Device>(at, 5, Relaxed), 10);
///     assert_eq!(u32::fetch_max::<Device>(at, 9, Relaxed), 5);
///     assert_eq!(u32::exchange::<Device>(at, 1, Relaxed), 9);
///     assert_eq!(u32::compare_exchange::<Device>(at, 1, 2, Relaxed, Relaxed), Ok(1));
///     assert_eq!(u32::compare_exchange::<Device>(at, 1, 3, Relaxed, Relaxed), Err(2));
///     u32::store::<Device>(at, 8, Relaxed);
///     assert_eq!(u32::load::<Device>(at, Relaxed), 8);
/// }
/// ```
///
/// # Safety
/// All functions of this trait have the same requirements:
/// - `at` must be aligned and valid for reads and writes, in global or shared memory.
/// - All concurrent accesses to `*at` must be atomic, of this size, and from threads of the scope
///   `S`.
pub trait AtomicValue: Copy + PartialEq + sealed::Value {
    /// Reads `*at`.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    ///
    /// # Panics
    /// Panics if `order` is `Release` or `AcqRel`.
    unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self;

    /// Writes `value` to `*at`.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    ///
    /// # Panics
    /// Panics if `order` is `Acquire` or `AcqRel`.
    unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering);

    /// Writes `value` to `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn exchange<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Writes `new` to `*at` if `*at` has the bits of `current`. Returns the previous value, as
    /// `Ok` if `new` was written.
    ///
    /// # Errors
    /// Returns the previous value if its bits differ from those of `current`.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    ///
    /// # Panics
    /// Panics if `failure` is `Release` or `AcqRel`.
    unsafe fn compare_exchange<S: Scope>(
        at: *mut Self,
        current: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self, Self>;

    /// Adds `value` to `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_add<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Subtracts `value` from `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_sub<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Stores the bitwise "and" of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_and<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Stores the bitwise "or" of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_or<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Stores the bitwise "exclusive or" of `*at` and `value` in `*at` and returns the previous
    /// value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_xor<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Stores the smaller of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_min<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;

    /// Stores the larger of `*at` and `value` in `*at` and returns the previous value.
    ///
    /// # Safety
    /// The requirements are those of the trait.
    unsafe fn fetch_max<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;
}

/// Reports an atomic access to the simulator.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
pub(super) fn noted<T>(at: *const T, is_load: bool, order: Ordering) {
    let releases = matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst);
    cuda_cpu::atomic_access(at.addr(), size_of::<T>(), is_load, releases);
}

/// Returns the ordering of a failed compare-exchange whose success ordering is `order`.
#[inline(always)]
fn read_order(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// Returns an ordering that covers both `success` and `failure`, because a PTX exchange has one
/// ordering for both outcomes.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn combined(success: Ordering, failure: Ordering) -> Ordering {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    match (success, failure) {
        (_, Release | AcqRel) => panic!("a failed exchange cannot be `Release` or `AcqRel`"),
        (SeqCst, _) | (_, SeqCst) => SeqCst,
        (Relaxed, Acquire) => Acquire,
        (Release, Acquire) => AcqRel,
        (success, _) => success,
    }
}

/// Calls `$instruction!` with the PTX name of the scope `$scope` as the first argument, followed by
/// the arguments `$rest`.
#[cfg(target_arch = "nvptx64")]
macro_rules! in_scope {
    ($scope:ident, $instruction:ident!($($rest:tt)*)) => {
        match $scope::WIDTH {
            0 => $instruction!("cta", $($rest)*),
            1 => $instruction!("gpu", $($rest)*),
            _ => $instruction!("sys", $($rest)*),
        }
    };
}

/// Runs a read-modify-write. The macro arguments are the PTX scope, the ordering, the instruction
/// text after the scope, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! atom {
    ($scope:literal, $order:expr, $text:expr, $($operand:tt)*) => {
        match $order {
            Ordering::Relaxed => core::arch::asm!(
                concat!("atom.relaxed.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::Acquire => core::arch::asm!(
                concat!("atom.acquire.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::Release => core::arch::asm!(
                concat!("atom.release.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::AcqRel => core::arch::asm!(
                concat!("atom.acq_rel.", $scope, ".", $text), $($operand)*, options(nostack)),
            _ => core::arch::asm!(
                concat!("fence.sc.", $scope, "; atom.acquire.", $scope, ".", $text),
                $($operand)*, options(nostack)),
        }
    };
}

/// Runs a load. The macro arguments are the PTX scope, the ordering, the instruction text after the
/// scope, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($scope:literal, $order:expr, $text:expr, $($operand:tt)*) => {
        match $order {
            Ordering::Relaxed => core::arch::asm!(
                concat!("ld.relaxed.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::Acquire => core::arch::asm!(
                concat!("ld.acquire.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::SeqCst => core::arch::asm!(
                concat!("fence.sc.", $scope, "; ld.acquire.", $scope, ".", $text),
                $($operand)*, options(nostack)),
            _ => panic!("a load cannot be `Release` or `AcqRel`"),
        }
    };
}

/// Runs a store. The macro arguments are the PTX scope, the ordering, the instruction text after
/// the scope, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! store {
    ($scope:literal, $order:expr, $text:expr, $($operand:tt)*) => {
        match $order {
            Ordering::Relaxed => core::arch::asm!(
                concat!("st.relaxed.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::Release => core::arch::asm!(
                concat!("st.release.", $scope, ".", $text), $($operand)*, options(nostack)),
            Ordering::SeqCst => core::arch::asm!(
                concat!("fence.sc.", $scope, "; st.release.", $scope, ".", $text),
                $($operand)*, options(nostack)),
            _ => panic!("a store cannot be `Acquire` or `AcqRel`"),
        }
    };
}

/// Defines load, store, exchange and compare-exchange, which treat values as bits. The macro
/// arguments are the PTX type, the register class, the atomic type on the CPU, and the conversions
/// to bits and back.
macro_rules! bits {
    ($ptx:literal, $register:ident, $atomic:ident, $to:expr, $from:expr) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                let value: Self;
                in_scope!(S, load!(order, concat!($ptx, " {}, [{}];"),
                    out($register) value, in(reg64) at));
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract. `cast_mut` is sound,
            // because a load does not write.
            unsafe {
                noted::<Self>(at, true, order);
                $from(core::sync::atomic::$atomic::from_ptr(at.cast_mut().cast()).load(order))
            }
        }

        #[inline(always)]
        #[track_caller]
        unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                in_scope!(S, store!(order, concat!($ptx, " [{}], {};"),
                    in(reg64) at, in($register) value));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                noted::<Self>(at, false, order);
                core::sync::atomic::$atomic::from_ptr(at.cast()).store($to(value), order);
            }
        }

        #[inline(always)]
        #[track_caller]
        unsafe fn exchange<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                let old: Self;
                in_scope!(S, atom!(order, concat!("exch.", $ptx, " {}, [{}], {};"),
                    out($register) old, in(reg64) at, in($register) value));
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                noted::<Self>(at, false, order);
                $from(core::sync::atomic::$atomic::from_ptr(at.cast()).swap($to(value), order))
            }
        }

        #[inline(always)]
        #[track_caller]
        unsafe fn compare_exchange<S: Scope>(
            at: *mut Self,
            current: Self,
            new: Self,
            success: Ordering,
            failure: Ordering,
        ) -> Result<Self, Self> {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                let order = combined(success, failure);
                let old: Self;
                in_scope!(S, atom!(order, concat!("cas.", $ptx, " {}, [{}], {}, {};"),
                    out($register) old, in(reg64) at, in($register) current, in($register) new));
                if $to(old) == $to(current) { Ok(old) } else { Err(old) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                noted::<Self>(at, false, success);
                core::sync::atomic::$atomic::from_ptr(at.cast())
                    .compare_exchange($to(current), $to(new), success, failure)
                    .map($from)
                    .map_err($from)
            }
        }
    };
}

/// Defines a read-modify-write of an integer: one instruction on the GPU, one method on the CPU.
macro_rules! integer_rmw {
    ($name:ident, $ptx:expr, $register:ident, $atomic:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                let old: Self;
                in_scope!(S, atom!(order, concat!($ptx, " {}, [{}], {};"),
                    out($register) old, in(reg64) at, in($register) value));
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                noted::<Self>(at, false, order);
                core::sync::atomic::$atomic::from_ptr(at).$name(value, order)
            }
        }
    };
}

/// Implements [`AtomicValue`] for an integer. The last three arguments are the PTX types for
/// bitwise operations, for addition and for comparisons. Addition wraps, so it uses the unsigned
/// type for signed integers, too.
macro_rules! integer {
    ($type:ty, $register:ident, $atomic:ident, $bits:literal, $sum:literal, $compared:literal) => {
        impl AtomicValue for $type {
            bits!($bits, $register, $atomic, core::convert::identity, core::convert::identity);
            integer_rmw!(fetch_add, concat!("add.", $sum), $register, $atomic);
            integer_rmw!(fetch_and, concat!("and.", $bits), $register, $atomic);
            integer_rmw!(fetch_or, concat!("or.", $bits), $register, $atomic);
            integer_rmw!(fetch_xor, concat!("xor.", $bits), $register, $atomic);
            integer_rmw!(fetch_min, concat!("min.", $compared), $register, $atomic);
            integer_rmw!(fetch_max, concat!("max.", $compared), $register, $atomic);

            #[inline(always)]
            #[track_caller]
            unsafe fn fetch_sub<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { Self::fetch_add::<S>(at, value.wrapping_neg(), order) }
            }
        }
    };
}

integer!(u32, reg32, AtomicU32, "b32", "u32", "u32");
integer!(i32, reg32, AtomicI32, "b32", "u32", "s32");
integer!(u64, reg64, AtomicU64, "b64", "u64", "u64");
integer!(i64, reg64, AtomicI64, "b64", "u64", "s64");

/// Defines a read-modify-write of a float as a compare-exchange loop.
macro_rules! float_update {
    ($name:ident, $combine:expr) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { update::<Self, S>(at, order, |old| $combine(old, value)) }
        }
    };
}

/// Defines a bitwise operation on a float through the integer of the same size.
macro_rules! float_bits {
    ($name:ident, $bits:ty) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            // SAFETY: the caller upholds this function's safety contract. The integer has the
            // float's size and alignment.
            Self::from_bits(unsafe { <$bits>::$name::<S>(at.cast(), value.to_bits(), order) })
        }
    };
}

macro_rules! float {
    ($type:ident, $bits:ident, $register:ident, $atomic:ident, $ptx_bits:literal, $ptx:literal) => {
        impl AtomicValue for $type {
            bits!($ptx_bits, $register, $atomic, $type::to_bits, $type::from_bits);
            float_bits!(fetch_and, $bits);
            float_bits!(fetch_or, $bits);
            float_bits!(fetch_xor, $bits);
            float_update!(fetch_min, $type::min);
            float_update!(fetch_max, $type::max);

            #[inline(always)]
            #[track_caller]
            unsafe fn fetch_add<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let old: Self;
                    in_scope!(S, atom!(order, concat!("add.", $ptx, " {}, [{}], {};"),
                        out($register) old, in(reg64) at, in($register) value));
                    old
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    update::<Self, S>(at, order, |old| old + value)
                }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn fetch_sub<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { Self::fetch_add::<S>(at, -value, order) }
            }
        }
    };
}

float!(f32, u32, reg32, AtomicU32, "b32", "f32");
float!(f64, u64, reg64, AtomicU64, "b64", "f64");

/// Replaces `*at` with `next(*at)` in a compare-exchange loop and returns the previous value.
///
/// # Safety
/// The requirements are those of [`AtomicValue`].
#[inline(always)]
unsafe fn update<T: AtomicValue, S: Scope>(
    at: *mut T,
    order: Ordering,
    next: impl Fn(T) -> T,
) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        let mut old = T::load::<S>(at, Ordering::Relaxed);
        loop {
            match T::compare_exchange::<S>(at, old, next(old), order, read_order(order)) {
                Ok(old) => return old,
                Err(now) => old = now,
            }
        }
    }
}
