//! Reductions of the values of several lanes to one value.
//!
//! [`warp_reduce`] has the signature of rust-cuda: it reduces integers over any lanes with a
//! [`WarpReductionOp`]. For 32-bit integers, it is one instruction from `sm_80` on. The other
//! functions are additions of this crate. They reduce the values of a whole warp, which may be
//! floats.

use super::{FULL_MASK, WARP_SIZE, WarpShuffleValue, warp_shuffle_idx, warp_shuffle_xor};

/// The operation of a [`warp_reduce`].
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{FULL_MASK, WarpReductionOp, lane_id, warp_reduce};
///
/// launch(&Launch::new("reduce", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the calls.
///     let reduce = |op| unsafe { warp_reduce(FULL_MASK, lane_id() + 1, op) };
///     assert_eq!(reduce(WarpReductionOp::Add), 528);
///     assert_eq!(reduce(WarpReductionOp::Min), 1);
///     assert_eq!(reduce(WarpReductionOp::Max), 32);
///     assert_eq!(reduce(WarpReductionOp::And), 0);
///     assert_eq!(reduce(WarpReductionOp::Or), 63);
///     assert_eq!(reduce(WarpReductionOp::Xor), 32);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WarpReductionOp {
    /// The sum, modulo 2ⁿ for an n-bit integer.
    Add,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The bits that are set in all values.
    And,
    /// The bits that are set in any value.
    Or,
    /// The bits that are set in an odd number of values.
    Xor,
}

/// An integer that [`warp_reduce`] can reduce.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{FULL_MASK, WarpReduceValue, WarpReductionOp, lane_id, warp_reduce};
///
/// /// Returns the difference between the largest and the smallest value.
/// ///
/// /// # Safety
/// /// All lanes of the warp must make the call.
/// unsafe fn spread<T: WarpReduceValue + core::ops::Sub<Output = T>>(value: T) -> T {
///     // SAFETY: the caller upholds this function's safety contract.
///     unsafe {
///         warp_reduce(FULL_MASK, value, WarpReductionOp::Max)
///             - warp_reduce(FULL_MASK, value, WarpReductionOp::Min)
///     }
/// }
///
/// launch(&Launch::new("spread", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { spread(3 * i64::from(lane_id())) }, 93);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
pub trait WarpReduceValue: WarpShuffleValue {
    /// Combines the values of the lanes of `mask` with `op` and returns the result in all of them.
    ///
    /// # Safety
    /// The requirements are those of [`warp_reduce`].
    #[doc(hidden)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// Expands to a closure that applies a [`WarpReductionOp`] to two values of one type.
macro_rules! combine {
    ($type:ty, $op:expr) => {
        |a: $type, b: $type| match $op {
            WarpReductionOp::Add => a.wrapping_add(b),
            WarpReductionOp::Min => a.min(b),
            WarpReductionOp::Max => a.max(b),
            WarpReductionOp::And => a & b,
            WarpReductionOp::Or => a | b,
            WarpReductionOp::Xor => a ^ b,
        }
    };
}

/// Implements [`WarpReduceValue`] with shuffles.
macro_rules! reduce_by_shuffles {
    ($($type:ty),+) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            #[track_caller]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { reduce_lanes(mask, value, combine!($type, op)) }
            }
        }
    )+};
}
reduce_by_shuffles!(i8, u8, i16, u16, i64, u64, i128, u128);

/// Implements [`WarpReduceValue`] with one instruction from `sm_80` on, and with shuffles
/// otherwise.
macro_rules! reduce_by_instruction {
    ($($type:ty, $min:ident, $max:ident);+) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            #[track_caller]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                #[cfg(target_feature = "compute_80")]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    let value = value as u32;
                    let reduced = match op {
                        WarpReductionOp::Add => redux::add(value, mask),
                        WarpReductionOp::Min => redux::$min(value, mask),
                        WarpReductionOp::Max => redux::$max(value, mask),
                        WarpReductionOp::And => redux::and(value, mask),
                        WarpReductionOp::Or => redux::or(value, mask),
                        WarpReductionOp::Xor => redux::xor(value, mask),
                    };
                    reduced as $type
                }
                #[cfg(not(target_feature = "compute_80"))]
                // SAFETY: the caller upholds this function's safety contract.
                unsafe {
                    reduce_lanes(mask, value, combine!($type, op))
                }
            }
        }
    )+};
}
reduce_by_instruction!(i32, min, max; u32, umin, umax);

#[cfg(target_feature = "compute_80")]
mod redux {
    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.redux.sync.add"]
        pub(super) fn add(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.min"]
        pub(super) fn min(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.max"]
        pub(super) fn max(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        pub(super) fn umin(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        pub(super) fn umax(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        pub(super) fn and(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        pub(super) fn or(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        pub(super) fn xor(value: u32, mask: u32) -> u32;
    }
}

/// Combines the values of the lanes of `mask`: pairwise if `mask` contains all lanes of the warp,
/// and otherwise in lane order.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
unsafe fn reduce_lanes<T: WarpShuffleValue>(mask: u32, value: T, combine: impl Fn(T, T) -> T) -> T {
    if mask == FULL_MASK {
        // SAFETY: the caller guarantees that all lanes take part.
        return unsafe { warp_reduce_by(value, combine) };
    }
    let mut others = mask;
    let mut sum = None;
    while others != 0 {
        let lane = others.trailing_zeros();
        others &= others - 1;
        // SAFETY: the caller guarantees that the lanes of the mask take part, and `lane` is one of
        // these.
        let (next, _) = unsafe { warp_shuffle_idx(mask, value, lane, WARP_SIZE) };
        sum = Some(sum.map_or(next, |sum| combine(sum, next)));
    }
    sum.unwrap_or(value)
}

/// Combines the values of the lanes of `mask` with `op` and returns the result in all of them.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{WarpReductionOp, lane_id, warp_reduce};
///
/// launch(&Launch::new("reduce", [1, 1, 1], [32, 1, 1]), &|| {
///     if lane_id() < 8 {
///         // SAFETY: lanes 0 to 7 make the call.
///         assert_eq!(unsafe { warp_reduce(0xff, lane_id(), WarpReductionOp::Add) }, 28);
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { T::reduce(mask, value, op) }
}

/// Combines the values of all 32 lanes with any function and returns the result in every lane.
///
/// The lanes exchange values in a butterfly of five shuffles. The order of combination is fixed, so
/// the result has the same bits in every run.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{lane_id, warp_reduce_by};
///
/// launch(&Launch::new("reduce", [1, 1, 1], [32, 1, 1]), &|| {
///     let factor = if lane_id() < 3 { 2.5_f32 } else { 1.0 };
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { warp_reduce_by(factor, |a, b| a * b) }, 15.625);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_by<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut lane_mask = WARP_SIZE / 2;
    while lane_mask > 0 {
        // SAFETY: the caller guarantees that all lanes take part.
        let (other, _) = unsafe { warp_shuffle_xor(FULL_MASK, value, lane_mask, WARP_SIZE) };
        value = combine(value, other);
        lane_mask /= 2;
    }
    value
}

/// Returns the sum of the values of all 32 lanes, in every lane.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{lane_id, warp_reduce_add};
///
/// launch(&Launch::new("sum", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { warp_reduce_add(0.5 * lane_id() as f32) }, 248.0);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_add<T: WarpShuffleValue + core::ops::Add<Output = T>>(value: T) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { warp_reduce_by(value, |a, b| a + b) }
}

/// Returns the sum of the values of all 32 lanes, modulo 2³², in every lane.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{lane_id, warp_reduce_add_u32};
///
/// launch(&Launch::new("sum", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { warp_reduce_add_u32(lane_id()) }, 496);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_add_u32(value: u32) -> u32 {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { warp_reduce(FULL_MASK, value, WarpReductionOp::Add) }
}

/// Returns the minimum of the values of all 32 lanes, in every lane.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{lane_id, warp_reduce_min};
///
/// launch(&Launch::new("least", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { warp_reduce_min(20.0 - lane_id() as f32) }, -11.0);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_min<T: WarpShuffleValue + PartialOrd>(value: T) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { warp_reduce_by(value, |a, b| if b < a { b } else { a }) }
}

/// Returns the maximum of the values of all 32 lanes, in every lane.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{lane_id, warp_reduce_max};
///
/// launch(&Launch::new("greatest", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     assert_eq!(unsafe { warp_reduce_max(20.0 - lane_id() as f32) }, 20.0);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_max<T: WarpShuffleValue + PartialOrd>(value: T) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { warp_reduce_by(value, |a, b| if b > a { b } else { a }) }
}

/// Returns `value`, which must be the same in all lanes. On the GPU, the result of this reduction is in a uniform
/// register, so the compiler knows that it is the same. It then also loads kernel parameters at this index and reads
/// textures from a [`Table`](crate::Table) once for the whole warp. On the CPU, the function does nothing.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::{thread, warp};
///
/// launch(&Launch::new("uniform", [2, 1, 1], [32, 1, 1]), &|| {
///     let block = thread::block_idx_x();
///     // SAFETY: all lanes make the call with the same value.
///     assert_eq!(unsafe { warp::warp_uniform(block) }, block);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
///
/// # Safety
/// All lanes of the warp must make the call, with the same value.
#[inline(always)]
#[must_use]
pub unsafe fn warp_uniform(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees that all lanes take part.
    unsafe {
        warp_reduce(FULL_MASK, value, WarpReductionOp::Or)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
