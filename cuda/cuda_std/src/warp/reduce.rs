//! Reductions of the values of several lanes to one value.
//!
//! [`warp_reduce`] has the signature of rust-cuda: it reduces integers over any lanes with a
//! [`WarpReductionOp`]. For 32-bit integers, it is one instruction from `sm_80` on. The other
//! functions are additions of this crate. They reduce the values of a whole warp, which may be
//! floats.

use super::{FULL_MASK, WARP_SIZE, WarpShuffleValue, warp_shuffle_idx, warp_shuffle_xor};

/// The operation of a [`warp_reduce`].
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
pub trait WarpReduceValue: WarpShuffleValue {
    /// Applies `op` to two values.
    #[doc(hidden)]
    fn combine(op: WarpReductionOp, a: Self, b: Self) -> Self;

    /// Combines the values of the lanes of `mask` with `op` and returns the result in all of them.
    ///
    /// # Safety
    /// The requirements are those of [`warp_reduce`].
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { reduce_lanes(mask, value, |a, b| Self::combine(op, a, b)) }
    }
}

/// Implements [`WarpReduceValue`]: for 32-bit integers with one instruction from `sm_80` on, whose
/// minimum and maximum are named, and otherwise with shuffles.
macro_rules! reduce_value {
    ($($type:ty $(: $min:ident $max:ident)?),+) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            fn combine(op: WarpReductionOp, a: Self, b: Self) -> Self {
                match op {
                    WarpReductionOp::Add => a.wrapping_add(b),
                    WarpReductionOp::Min => a.min(b),
                    WarpReductionOp::Max => a.max(b),
                    WarpReductionOp::And => a & b,
                    WarpReductionOp::Or => a | b,
                    WarpReductionOp::Xor => a ^ b,
                }
            }

            $(
                #[cfg(target_feature = "compute_80")]
                #[inline(always)]
                unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                    let value = value as u32;
                    // SAFETY: the caller upholds this function's safety contract.
                    let reduced = unsafe {
                        match op {
                            WarpReductionOp::Add => redux::add(value, mask),
                            WarpReductionOp::Min => redux::$min(value, mask),
                            WarpReductionOp::Max => redux::$max(value, mask),
                            WarpReductionOp::And => redux::and(value, mask),
                            WarpReductionOp::Or => redux::or(value, mask),
                            WarpReductionOp::Xor => redux::xor(value, mask),
                        }
                    };
                    reduced as $type
                }
            )?
        }
    )+};
}
reduce_value!(i8, u8, i16, u16, i32: min max, u32: umin umax, i64, u64, i128, u128);

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
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_add<T: WarpShuffleValue + core::ops::Add<Output = T>>(value: T) -> T {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { warp_reduce_by(value, |a, b| a + b) }
}

/// Returns the minimum of the values of all 32 lanes, in every lane.
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
/// # Safety
/// All lanes of the warp must make the call, with the same value.
#[inline(always)]
pub unsafe fn warp_uniform(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees that all lanes take part.
    unsafe {
        warp_reduce(FULL_MASK, value, WarpReductionOp::Or)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
