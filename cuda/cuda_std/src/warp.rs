//! Warps: groups of 32 threads that exchange values without memory.
//!
//! Each operation takes a bit mask of the participating lanes. On the GPU, the operations use LLVM
//! intrinsics and never `asm!`, which the compiler may move or duplicate across branches. On the
//! CPU, the lanes of the mask wait for each other. A missing lane causes a
//! [`WarpDivergence`](cuda_cpu::FaultKind::WarpDivergence) fault.
//!
//! Names and signatures are those of rust-cuda, with two additions: the `warp_reduce_` functions
//! for a whole warp, and shuffles of any value that consists of 32-bit words.
//!
//! ```
//! use cuda_std::cpu::{Launch, launch};
//! use cuda_std::warp::{self, FULL_MASK};
//!
//! launch(&Launch::new("warp", [1, 1, 1], [64, 1, 1]), &|| {
//!     let lane = warp::lane_id();
//!     // SAFETY: all lanes of the warp make the same calls.
//!     unsafe {
//!         let (next, in_range) = warp::warp_shuffle_down(FULL_MASK, lane, 1, 32);
//!         assert_eq!((next, in_range), if lane < 31 { (lane + 1, true) } else { (31, false) });
//!         assert_eq!(warp::warp_reduce_add(lane), 496);
//!         assert_eq!(warp::warp_vote_ballot(FULL_MASK, lane < 4), 0b1111);
//!     }
//! })?;
//! # Ok::<(), cuda_std::cpu::Fault>(())
//! ```
//!
//! # Convergence
//! All operations have this safety requirement: the calling lane must be in `mask`, and every lane
//! in `mask` must make the same call with the same `mask`.

mod matching;
mod reduce;
mod vote;

use half::{bf16, f16};

#[cfg(not(target_arch = "nvptx64"))]
use {core::panic::Location, cuda_cpu::WarpOp};

pub use matching::{warp_match_all, warp_match_any};
pub use reduce::{
    WarpReduceValue, WarpReductionOp, warp_reduce, warp_reduce_add, warp_reduce_by,
    warp_reduce_max, warp_reduce_min, warp_uniform,
};
pub use vote::{warp_vote_all, warp_vote_any, warp_vote_ballot};

/// The number of lanes in a warp.
pub const WARP_SIZE: u32 = 32;

/// The mask of all lanes.
pub const FULL_MASK: u32 = u32::MAX;

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    fn active_mask() -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any(mask: u32, value: u32) -> u32;
}

/// Returns the lane of the thread in its warp, from 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return ptx!("mov.u32 {}, %laneid;" => reg32 u32);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        cuda_cpu::thread_rank() % WARP_SIZE
    }
}

/// Returns a mask of lanes that execute this instruction together with the calling lane.
///
/// On a GPU, only the calling lane is certain to be in the mask. On the CPU, the mask contains only
/// the calling lane. To work with specific lanes, pass their mask to [`sync_warp`].
#[inline(always)]
pub fn activemask() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction only reads the state of the warp.
    unsafe {
        active_mask()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1 << lane_id()
    }
}

/// Waits until all lanes of `mask` reach this call, and orders their memory accesses.
///
/// # Safety
/// The lanes must meet the [convergence](self#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        bar_warp_sync(mask);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::warp_exchange(WarpOp::Sync, mask, 0, Location::caller());
}

/// A value that a shuffle can move in 32-bit words.
pub trait WarpShuffleValue: Copy {
    /// Returns the value with each 32-bit part replaced by the result of `word` for that part. A
    /// value of fewer than 32 bits is one part.
    #[doc(hidden)]
    fn shuffle_words(self, word: impl FnMut(u32) -> u32) -> Self;
}

/// Implements [`WarpShuffleValue`] for types of at most one word, through an unsigned integer of
/// the same size.
macro_rules! shuffle_word {
    ($($type:ty as $bits:ty),+) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            fn shuffle_words(self, mut word: impl FnMut(u32) -> u32) -> Self {
                let bits = <$bits>::from_ne_bytes(self.to_ne_bytes());
                Self::from_ne_bytes((word(bits.into()) as $bits).to_ne_bytes())
            }
        }
    )+};
}
shuffle_word!(u8 as u8, i8 as u8, u16 as u16, i16 as u16, f16 as u16, bf16 as u16);
shuffle_word!(u32 as u32, i32 as u32, f32 as u32);

/// Implements [`WarpShuffleValue`] for types of two or four words, through an unsigned integer of
/// the same size.
macro_rules! shuffle_words {
    ($($type:ty as $bits:ty, $half:ty),+) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            fn shuffle_words(self, mut word: impl FnMut(u32) -> u32) -> Self {
                let bits = <$bits>::from_ne_bytes(self.to_ne_bytes());
                let low = (bits as $half).shuffle_words(&mut word);
                let high = ((bits >> <$half>::BITS) as $half).shuffle_words(word);
                let bits = <$bits>::from(high) << <$half>::BITS | <$bits>::from(low);
                Self::from_ne_bytes(bits.to_ne_bytes())
            }
        }
    )+};
}
shuffle_words!(u64 as u64, u32, i64 as u64, u32, f64 as u64, u32);
shuffle_words!(u128 as u128, u64, i128 as u128, u64);

/// Returns the first and last lane of the segment that contains `lane`.
///
/// Segments are aligned to `width`, a power of two up to 32.
#[inline(always)]
fn segment(lane: u32, width: u32) -> (u32, u32) {
    let first = lane & !(width - 1);
    (first, first + width - 1)
}

/// Panics on the CPU, or on a GPU with debug assertions, if `width` is not a width of a segment.
#[inline(always)]
#[track_caller]
fn check_width(width: u32) {
    if cfg!(any(debug_assertions, not(target_arch = "nvptx64"))) {
        assert!(
            width.is_power_of_two() && width <= WARP_SIZE,
            "the width of a shuffle must be 1, 2, 4, 8, 16 or 32"
        );
    }
}

/// Defines a shuffle. The GPU executes `$intrinsic` for each 32-bit word. The CPU exchanges the
/// values and selects the source lane according to the description of `shfl.sync` in the PTX
/// manual.
///
/// The closure `$source` takes the calling lane, the first and last lane of its segment, and
/// `$argument`. It returns the source lane, or `None` if the source is out of range. As in
/// rust-cuda, a shuffle also returns whether the source was in range. If the source is out of
/// range, the lane keeps its own value.
macro_rules! shuffle {
    ($(#[$doc:meta])* $name:ident, $argument:ident, $source:expr, $intrinsic:ident, $clamp:expr) => {
        $(#[$doc])*
        /// Returns the value, and whether its source lane was in range. If not, the value is the
        /// calling lane's own. `width`, a power of two up to 32, divides the warp into segments
        /// that shuffle independently. Only the lowest five bits of the third argument are used.
        ///
        /// # Safety
        /// - The lanes must meet the [convergence](self#convergence) requirement.
        /// - `width` must be 1, 2, 4, 8, 16 or 32.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name<T: WarpShuffleValue>(
            mask: u32,
            value: T,
            $argument: u32,
            width: u32,
        ) -> (T, bool) {
            check_width(width);
            let lane = lane_id();
            let (first, last) = segment(lane, width);
            let source: Option<u32> = $source(lane, first, last, $argument & (WARP_SIZE - 1));
            let in_range = source.is_some();
            #[cfg(target_arch = "nvptx64")]
            let shuffled = {
                let clamp = (WARP_SIZE - width) << 8 | $clamp;
                // SAFETY: the caller upholds this function's safety contract.
                value.shuffle_words(|word| unsafe { $intrinsic(mask, word, $argument, clamp) })
            };
            #[cfg(not(target_arch = "nvptx64"))]
            let shuffled = {
                // Inside the closure below, `Location::caller` would return this line instead of
                // the caller's.
                let place = Location::caller();
                let source = source.unwrap_or(lane);
                if mask & 1 << source == 0 {
                    let (op, missing) = ("shuffle from a lane outside its mask", 1 << source);
                    let others = None;
                    cuda_cpu::fail(cuda_cpu::FaultKind::WarpDivergence {
                        op, place, mask, missing, others
                    });
                }
                value.shuffle_words(|word| {
                    let lanes = cuda_cpu::warp_exchange(WarpOp::Exchange, mask, word, place);
                    lanes[source as usize]
                })
            };
            (shuffled, in_range)
        }
    };
}

shuffle! {
    /// Takes the value of the lane whose index is greater by `delta`, if that lane is in the
    /// segment of the calling lane.
    warp_shuffle_down, delta,
    |lane, _, last, delta| Some(lane + delta).filter(|&source| source <= last), shfl_down, 0x1f
}
shuffle! {
    /// Takes the value of the lane whose index is less by `delta`, if that lane is in the segment
    /// of the calling lane.
    warp_shuffle_up, delta,
    |lane: u32, first, _, delta| lane.checked_sub(delta).filter(|&source| source >= first), shfl_up, 0
}
shuffle! {
    /// Takes the value of the lane whose index differs in the bits of `lane_mask`, if that lane is
    /// in the segment of the calling lane or, as the hardware allows, in an earlier segment.
    warp_shuffle_xor, lane_mask,
    |lane, _, last, lane_mask| Some(lane ^ lane_mask).filter(|&source| source <= last), shfl_bfly, 0x1f
}
shuffle! {
    /// Takes the value of lane `source_lane % width` of the calling lane's segment.
    warp_shuffle_idx, source_lane,
    |_, first, last, source_lane| Some(first + (source_lane & (last - first))), shfl_idx, 0x1f
}
