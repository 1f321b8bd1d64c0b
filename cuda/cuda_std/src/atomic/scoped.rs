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

/// Declares functions that replace `*at`.
macro_rules! read_modify_write {
    ($($name:ident $new:literal;)+) => {$(
        #[doc = concat!("Writes ", $new, " to `*at` and returns the previous value.")]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self;
    )+};
}

/// A 32- or 64-bit number with atomic operations: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
///
/// Integers wrap. On floats, `and`, `or`, `xor` and the comparison of
/// [`compare_exchange`](Self::compare_exchange) work on the bits, and `min` and `max` ignore a NaN
/// as [`f32::min`] does. On the GPU, an `f32` addition in global memory treats subnormals as zero.
///
/// # Safety
/// Implementations must be atomic. All functions of this trait have the same requirements:
/// - `at` must be aligned and valid for reads and writes, in global or shared memory.
/// - All concurrent accesses to `*at` must be atomic, of this size, and from threads of the scope
///   `S`.
///
/// # Panics
/// A load and a failed exchange panic if their ordering is `Release` or `AcqRel`, and a store panics
/// if it is `Acquire` or `AcqRel`.
#[allow(clippy::missing_safety_doc, reason = "the trait states the requirements")]
pub unsafe trait AtomicValue: Copy + PartialEq {
    /// Reads `*at`.
    unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self;

    /// Writes `value` to `*at`.
    unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering);

    /// Writes `new` to `*at` if `*at` has the bits of `current`. Returns the previous value.
    ///
    /// # Errors
    /// Returns the previous value as an error if its bits differ from those of `current`.
    unsafe fn compare_exchange<S: Scope>(
        at: *mut Self,
        current: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self, Self>;

    read_modify_write! {
        exchange "`value`";
        fetch_add "the sum of `*at` and `value`";
        fetch_sub "`*at` minus `value`";
        fetch_and "the bitwise \"and\" of `*at` and `value`";
        fetch_or "the bitwise \"or\" of `*at` and `value`";
        fetch_xor "the bitwise \"exclusive or\" of `*at` and `value`";
        fetch_min "the smaller of `*at` and `value`";
        fetch_max "the larger of `*at` and `value`";
    }
}

/// Reports an atomic access to the simulator.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
fn noted<T>(at: *const T, is_load: bool, order: Ordering) {
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

/// Defines a read-modify-write of an integer: one instruction on the GPU, one method on the CPU.
macro_rules! integer_rmw {
    ($name:ident = $method:ident, $ptx:expr, $register:ident, $atomic:ident) => {
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
                core::sync::atomic::$atomic::from_ptr(at).$method(value, order)
            }
        }
    };
}

/// Implements [`AtomicValue`] for an integer. The last three arguments are the PTX types for
/// bitwise operations, for addition and for comparisons. Addition wraps, so it uses the unsigned
/// type for signed integers, too.
macro_rules! integer {
    ($type:ty, $register:ident, $atomic:ident, $bits:literal, $sum:literal, $compared:literal) => {
        // SAFETY: all operations are atomic.
        unsafe impl AtomicValue for $type {
            integer_rmw!(exchange = swap, concat!("exch.", $bits), $register, $atomic);
            integer_rmw!(fetch_add = fetch_add, concat!("add.", $sum), $register, $atomic);
            integer_rmw!(fetch_and = fetch_and, concat!("and.", $bits), $register, $atomic);
            integer_rmw!(fetch_or = fetch_or, concat!("or.", $bits), $register, $atomic);
            integer_rmw!(fetch_xor = fetch_xor, concat!("xor.", $bits), $register, $atomic);
            integer_rmw!(fetch_min = fetch_min, concat!("min.", $compared), $register, $atomic);
            integer_rmw!(fetch_max = fetch_max, concat!("max.", $compared), $register, $atomic);

            #[inline(always)]
            #[track_caller]
            unsafe fn fetch_sub<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { Self::fetch_add::<S>(at, value.wrapping_neg(), order) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let value: Self;
                    in_scope!(S, load!(order, concat!($bits, " {}, [{}];"),
                        out($register) value, in(reg64) at));
                    value
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract. `cast_mut` is sound,
                // because a load does not write.
                unsafe {
                    noted::<Self>(at, true, order);
                    core::sync::atomic::$atomic::from_ptr(at.cast_mut()).load(order)
                }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    in_scope!(S, store!(order, concat!($bits, " [{}], {};"),
                        in(reg64) at, in($register) value));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    noted::<Self>(at, false, order);
                    core::sync::atomic::$atomic::from_ptr(at).store(value, order);
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
                    in_scope!(S, atom!(order, concat!("cas.", $bits, " {}, [{}], {}, {};"),
                        out($register) old, in(reg64) at, in($register) current, in($register) new));
                    if old == current { Ok(old) } else { Err(old) }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    noted::<Self>(at, false, success);
                    let cell = core::sync::atomic::$atomic::from_ptr(at);
                    cell.compare_exchange(current, new, success, failure)
                }
            }
        }
    };
}

integer!(u32, reg32, AtomicU32, "b32", "u32", "u32");
integer!(i32, reg32, AtomicI32, "b32", "u32", "s32");
integer!(u64, reg64, AtomicU64, "b64", "u64", "u64");
integer!(i64, reg64, AtomicI64, "b64", "u64", "s64");

/// Implements [`AtomicValue`] for a float: through the integer of the same size and alignment, and
/// with compare-exchange loops.
macro_rules! float {
    ($type:ident, $bits:ident, $register:ident) => {
        // SAFETY: all operations are atomic.
        unsafe impl AtomicValue for $type {
            float!(@bits $bits exchange fetch_and fetch_or fetch_xor);
            float!(@update fetch_min $type::min);
            float!(@update fetch_max $type::max);

            #[inline(always)]
            #[track_caller]
            unsafe fn fetch_add<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let old: Self;
                    in_scope!(S, atom!(order, concat!("add.", stringify!($type), " {}, [{}], {};"),
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

            #[inline(always)]
            #[track_caller]
            unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                Self::from_bits(unsafe { <$bits>::load::<S>(at.cast(), order) })
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering) {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { <$bits>::store::<S>(at.cast(), value.to_bits(), order) }
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
                let (current, new) = (current.to_bits(), new.to_bits());
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { <$bits>::compare_exchange::<S>(at.cast(), current, new, success, failure) }
                    .map(Self::from_bits)
                    .map_err(Self::from_bits)
            }
        }
    };
    (@bits $bits:ident $($name:ident)+) => {$(
        #[inline(always)]
        #[track_caller]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            // SAFETY: the caller upholds this function's safety contract.
            Self::from_bits(unsafe { <$bits>::$name::<S>(at.cast(), value.to_bits(), order) })
        }
    )+};
    (@update $name:ident $combine:expr) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $name<S: Scope>(at: *mut Self, value: Self, order: Ordering) -> Self {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { update::<Self, S>(at, order, |old| $combine(old, value)) }
        }
    };
}

float!(f32, u32, reg32);
float!(f64, u64, reg64);

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
