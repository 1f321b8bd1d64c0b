//! rust-cuda's atomic functions, with the type and the scope in the name. They wrap [`AtomicValue`]
//! and [`fence`], and also work on the CPU.
//!
//! The functions of rust-cuda's module `intrinsics`, which are one instruction each, are not
//! available.
//!
//! ```
//! use cuda_std::atomic::{Ordering, mid};
//!
//! let mut total = 40_u32;
//! // SAFETY: the pointer is valid, and no other thread has it.
//! let before = unsafe { mid::atomic_fetch_add_u32_device(&raw mut total, Ordering::Relaxed, 2) };
//! assert_eq!((before, total), (40, 42));
//! ```

use core::sync::atomic::Ordering;

use super::scoped::read_order;
use super::{AtomicValue, Block, Device, Scope, System, fence};

/// Executes a memory fence with the scope `S`, or does nothing if `ordering` is `Relaxed`.
#[inline(always)]
fn thread_fence<S: Scope>(ordering: Ordering) {
    if ordering != Ordering::Relaxed {
        fence::<S>(ordering);
    }
}

/// Orders the thread's memory accesses as observed by the threads of its block. Does nothing if
/// `ordering` is `Relaxed`.
///
/// ```
/// use cuda_std::atomic::{Ordering, mid};
/// use cuda_std::cpu::{Launch, launch};
///
/// launch(&Launch::new("kernel", [1, 1, 1], [32, 1, 1]), &|| {
///     mid::block_thread_fence(Ordering::AcqRel);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
#[inline(always)]
pub fn block_thread_fence(ordering: Ordering) {
    thread_fence::<Block>(ordering);
}

/// Orders the thread's memory accesses as observed by the threads of its GPU. Does nothing if
/// `ordering` is `Relaxed`.
///
/// ```
/// use cuda_std::atomic::{Ordering, mid};
/// use cuda_std::cpu::{Launch, launch};
///
/// launch(&Launch::new("kernel", [4, 1, 1], [32, 1, 1]), &|| {
///     mid::device_thread_fence(Ordering::AcqRel);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
#[inline(always)]
pub fn device_thread_fence(ordering: Ordering) {
    thread_fence::<Device>(ordering);
}

/// Orders the thread's memory accesses as observed by the threads of all GPUs and of the host. Does
/// nothing if `ordering` is `Relaxed`.
///
/// ```
/// use cuda_std::atomic::{Ordering, mid};
/// use cuda_std::cpu::{Launch, launch};
///
/// launch(&Launch::new("kernel", [4, 1, 1], [32, 1, 1]), &|| {
///     mid::system_thread_fence(Ordering::SeqCst);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
#[inline(always)]
pub fn system_thread_fence(ordering: Ordering) {
    thread_fence::<System>(ordering);
}

/// The example of a function. The arguments are the function, its type, the value before the call
/// without its type, the code before and inside the call, and statements that check the final
/// `value`.
macro_rules! example {
    ($name:ident $type:ident $value:literal $before:literal $arguments:expr, $check:expr) => {
        concat!(
            "```\nuse cuda_std::atomic::{Ordering, mid};\n\nlet mut value = ",
            $value,
            "_",
            stringify!($type),
            ";\n// SAFETY: the pointer is valid, and no other thread has it.\n",
            $before,
            "unsafe { mid::",
            stringify!($name),
            "(&raw mut value, ",
            $arguments,
            ") };\n",
            $check,
            "\n```\n\n"
        )
    };
}

/// The check of an [`example`]: the previous and the final value, without their type.
macro_rules! values {
    ($type:ident $old:literal $value:literal) => {
        concat!(
            "assert_eq!((old, value), (",
            $old,
            "_",
            stringify!($type),
            ", ",
            $value,
            "_",
            stringify!($type),
            "));"
        )
    };
}

/// Calls the macro `$function` for each type and scope. A row has a type and the names of its three
/// functions, for block, device and system scope. The literals are the values in the example.
macro_rules! scopes {
    (
        $function:ident!($method:ident $($literal:literal)*)
        $($type:ident $block:ident $device:ident $system:ident;)+
    ) => {
        scopes!(@ $function $method [$($literal)*] $($type $block Block; $type $device Device; $type $system System;)+);
    };
    (@ $function:ident $method:ident $literals:tt $($type:ident $name:ident $scope:ident;)+) => {
        $($function!($method $type $name $scope $literals);)+
    };
}

macro_rules! load {
    ($method:ident $type:ident $name:ident $scope:ident []) => {
        #[doc = concat!("Calls [`AtomicValue::", stringify!($method), "`]")]
        #[doc = concat!("with [`", stringify!($scope), "`] scope.")]
        ///
        #[doc = example!($name $type "6" "let old = " "Ordering::Acquire", values!($type "6" "6"))]
        /// # Safety
        /// The requirements are those of [`AtomicValue`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(ptr: *mut $type, ordering: Ordering) -> $type {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { <$type>::$method::<$scope>(ptr, ordering) }
        }
    };
}

macro_rules! store {
    ($method:ident $type:ident $name:ident $scope:ident []) => {
        #[doc = concat!("Calls [`AtomicValue::", stringify!($method), "`]")]
        #[doc = concat!("with [`", stringify!($scope), "`] scope.")]
        ///
        #[doc = example!($name $type "6" "" "Ordering::Release, 3", "assert_eq!(value, 3);")]
        /// # Safety
        /// The requirements are those of [`AtomicValue`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(ptr: *mut $type, ordering: Ordering, val: $type) {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { <$type>::$method::<$scope>(ptr, val, ordering) }
        }
    };
}

macro_rules! fetch {
    ($method:ident $type:ident $name:ident $scope:ident [$before:literal $value:literal $after:literal]) => {
        #[doc = concat!("Calls [`AtomicValue::", stringify!($method), "`]")]
        #[doc = concat!("with [`", stringify!($scope), "`] scope.")]
        ///
        #[doc = example!($name $type $before "let old = "
                                    concat!("Ordering::Relaxed, ", $value, "_", stringify!($type)),
                                    values!($type $before $after))]
        /// # Safety
        /// The requirements are those of [`AtomicValue`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe { <$type>::$method::<$scope>(ptr, val, ordering) }
        }
    };
}

macro_rules! compare_and_swap {
    ($method:ident $type:ident $name:ident $scope:ident []) => {
        #[doc = concat!("Calls [`AtomicValue::", stringify!($method), "`]")]
        #[doc = concat!("with [`", stringify!($scope), "`] scope and returns the previous value.")]
        ///
        #[doc = example!($name $type "6" "let old = "
            concat!("6_", stringify!($type), ", 3_", stringify!($type), ", Ordering::AcqRel"),
            values!($type "6" "3"))]
        /// # Safety
        /// The requirements are those of [`AtomicValue`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(
            ptr: *mut $type,
            current: $type,
            new: $type,
            ordering: Ordering,
        ) -> $type {
            let failure = read_order(ordering);
            // SAFETY: the caller upholds this function's safety contract.
            let old = unsafe { <$type>::$method::<$scope>(ptr, current, new, ordering, failure) };
            match old {
                Ok(old) | Err(old) => old,
            }
        }
    };
}

scopes! { load!(load)
    u32 atomic_load_32_block atomic_load_32_device atomic_load_32_system;
    u64 atomic_load_64_block atomic_load_64_device atomic_load_64_system;
}

scopes! { store!(store)
    u32 atomic_store_32_block atomic_store_32_device atomic_store_32_system;
    u64 atomic_store_64_block atomic_store_64_device atomic_store_64_system;
}

scopes! { fetch!(fetch_and "6" "3" "2")
    u32 atomic_fetch_and_u32_block atomic_fetch_and_u32_device atomic_fetch_and_u32_system;
    u64 atomic_fetch_and_u64_block atomic_fetch_and_u64_device atomic_fetch_and_u64_system;
    i32 atomic_fetch_and_i32_block atomic_fetch_and_i32_device atomic_fetch_and_i32_system;
    i64 atomic_fetch_and_i64_block atomic_fetch_and_i64_device atomic_fetch_and_i64_system;
}

scopes! { fetch!(fetch_and "-1.5" "1.5" "1.5")
    f32 atomic_fetch_and_f32_block atomic_fetch_and_f32_device atomic_fetch_and_f32_system;
    f64 atomic_fetch_and_f64_block atomic_fetch_and_f64_device atomic_fetch_and_f64_system;
}

scopes! { fetch!(fetch_or "6" "3" "7")
    u32 atomic_fetch_or_u32_block atomic_fetch_or_u32_device atomic_fetch_or_u32_system;
    u64 atomic_fetch_or_u64_block atomic_fetch_or_u64_device atomic_fetch_or_u64_system;
    i32 atomic_fetch_or_i32_block atomic_fetch_or_i32_device atomic_fetch_or_i32_system;
    i64 atomic_fetch_or_i64_block atomic_fetch_or_i64_device atomic_fetch_or_i64_system;
}

scopes! { fetch!(fetch_or "1.5" "-0.0" "-1.5")
    f32 atomic_fetch_or_f32_block atomic_fetch_or_f32_device atomic_fetch_or_f32_system;
    f64 atomic_fetch_or_f64_block atomic_fetch_or_f64_device atomic_fetch_or_f64_system;
}

scopes! { fetch!(fetch_xor "6" "3" "5")
    u32 atomic_fetch_xor_u32_block atomic_fetch_xor_u32_device atomic_fetch_xor_u32_system;
    u64 atomic_fetch_xor_u64_block atomic_fetch_xor_u64_device atomic_fetch_xor_u64_system;
    i32 atomic_fetch_xor_i32_block atomic_fetch_xor_i32_device atomic_fetch_xor_i32_system;
    i64 atomic_fetch_xor_i64_block atomic_fetch_xor_i64_device atomic_fetch_xor_i64_system;
}

scopes! { fetch!(fetch_xor "-1.5" "-0.0" "1.5")
    f32 atomic_fetch_xor_f32_block atomic_fetch_xor_f32_device atomic_fetch_xor_f32_system;
    f64 atomic_fetch_xor_f64_block atomic_fetch_xor_f64_device atomic_fetch_xor_f64_system;
}

scopes! { fetch!(fetch_add "6" "3" "9")
    u32 atomic_fetch_add_u32_block atomic_fetch_add_u32_device atomic_fetch_add_u32_system;
    u64 atomic_fetch_add_u64_block atomic_fetch_add_u64_device atomic_fetch_add_u64_system;
    i32 atomic_fetch_add_i32_block atomic_fetch_add_i32_device atomic_fetch_add_i32_system;
    i64 atomic_fetch_add_i64_block atomic_fetch_add_i64_device atomic_fetch_add_i64_system;
    f32 atomic_fetch_add_f32_block atomic_fetch_add_f32_device atomic_fetch_add_f32_system;
    f64 atomic_fetch_add_f64_block atomic_fetch_add_f64_device atomic_fetch_add_f64_system;
}

scopes! { fetch!(fetch_sub "6" "3" "3")
    u32 atomic_fetch_sub_u32_block atomic_fetch_sub_u32_device atomic_fetch_sub_u32_system;
    u64 atomic_fetch_sub_u64_block atomic_fetch_sub_u64_device atomic_fetch_sub_u64_system;
    i32 atomic_fetch_sub_i32_block atomic_fetch_sub_i32_device atomic_fetch_sub_i32_system;
    i64 atomic_fetch_sub_i64_block atomic_fetch_sub_i64_device atomic_fetch_sub_i64_system;
    f32 atomic_fetch_sub_f32_block atomic_fetch_sub_f32_device atomic_fetch_sub_f32_system;
    f64 atomic_fetch_sub_f64_block atomic_fetch_sub_f64_device atomic_fetch_sub_f64_system;
}

scopes! { fetch!(fetch_min "6" "3" "3")
    u32 atomic_fetch_min_u32_block atomic_fetch_min_u32_device atomic_fetch_min_u32_system;
    u64 atomic_fetch_min_u64_block atomic_fetch_min_u64_device atomic_fetch_min_u64_system;
    i32 atomic_fetch_min_i32_block atomic_fetch_min_i32_device atomic_fetch_min_i32_system;
    i64 atomic_fetch_min_i64_block atomic_fetch_min_i64_device atomic_fetch_min_i64_system;
}

scopes! { fetch!(fetch_max "6" "3" "6")
    u32 atomic_fetch_max_u32_block atomic_fetch_max_u32_device atomic_fetch_max_u32_system;
    u64 atomic_fetch_max_u64_block atomic_fetch_max_u64_device atomic_fetch_max_u64_system;
    i32 atomic_fetch_max_i32_block atomic_fetch_max_i32_device atomic_fetch_max_i32_system;
    i64 atomic_fetch_max_i64_block atomic_fetch_max_i64_device atomic_fetch_max_i64_system;
}

scopes! { fetch!(exchange "6" "3" "3")
    u32 atomic_fetch_exch_u32_block atomic_fetch_exch_u32_device atomic_fetch_exch_u32_system;
    u64 atomic_fetch_exch_u64_block atomic_fetch_exch_u64_device atomic_fetch_exch_u64_system;
    i32 atomic_fetch_exch_i32_block atomic_fetch_exch_i32_device atomic_fetch_exch_i32_system;
    i64 atomic_fetch_exch_i64_block atomic_fetch_exch_i64_device atomic_fetch_exch_i64_system;
    f32 atomic_fetch_exch_f32_block atomic_fetch_exch_f32_device atomic_fetch_exch_f32_system;
    f64 atomic_fetch_exch_f64_block atomic_fetch_exch_f64_device atomic_fetch_exch_f64_system;
}

scopes! { compare_and_swap!(compare_exchange)
    u32 atomic_compare_and_swap_u32_block atomic_compare_and_swap_u32_device atomic_compare_and_swap_u32_system;
    u64 atomic_compare_and_swap_u64_block atomic_compare_and_swap_u64_device atomic_compare_and_swap_u64_system;
    i32 atomic_compare_and_swap_i32_block atomic_compare_and_swap_i32_device atomic_compare_and_swap_i32_system;
    i64 atomic_compare_and_swap_i64_block atomic_compare_and_swap_i64_device atomic_compare_and_swap_i64_system;
    f32 atomic_compare_and_swap_f32_block atomic_compare_and_swap_f32_device atomic_compare_and_swap_f32_system;
    f64 atomic_compare_and_swap_f64_block atomic_compare_and_swap_f64_device atomic_compare_and_swap_f64_system;
}
