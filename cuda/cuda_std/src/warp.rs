//! Warps: 32 threads that exchange values without memory.
//!
//! All operations name the lanes that take part by a bit mask. They are made from LLVM intrinsics,
//! never from `asm!`, which the compiler may move or duplicate across branches; on the CPU all of
//! them are one rendezvous, and lanes that fail to come are a
//! [`WarpDivergence`](cuda_cpu::FaultKind::WarpDivergence) fault.
//!
//! The obligation shared by all of them, called *convergence* below: the calling lane is in `mask`,
//! and every lane in `mask` makes the same call with the same `mask`.

#[cfg(not(target_arch = "nvptx64"))]
use {core::panic::Location, cuda_cpu::WarpOp};

/// Lanes of a warp.
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
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn redux_add(value: u32, mask: u32) -> u32;
}

/// Lane of the thread in its warp.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let lane: u32;
        // SAFETY: reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %laneid;", out(reg32) lane,
                options(pure, nomem, nostack, preserves_flags));
        }
        lane
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        cuda_cpu::thread_rank() % WARP_SIZE
    }
}

/// Waits for the lanes of `mask` and orders their memory accesses.
///
/// # Safety
/// Convergence.
#[inline(always)]
#[track_caller]
pub unsafe fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as the caller vouches.
    unsafe {
        bar_warp_sync(mask);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::warp_exchange(WarpOp::Sync, mask, 0, Location::caller());
}

/// A value that fits a register or two.
pub trait WarpShuffleValue: Copy {
    /// Calls `word` for each 32-bit half.
    #[doc(hidden)]
    fn shuffle_words(self, word: impl FnMut(u32) -> u32) -> Self;
}

macro_rules! shuffle_word {
    ($($type:ty),+) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            fn shuffle_words(self, mut word: impl FnMut(u32) -> u32) -> Self {
                Self::from_ne_bytes(word(u32::from_ne_bytes(self.to_ne_bytes())).to_ne_bytes())
            }
        }
    )+};
}
shuffle_word!(u32, i32, f32);

macro_rules! shuffle_two_words {
    ($($type:ty),+) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            fn shuffle_words(self, mut word: impl FnMut(u32) -> u32) -> Self {
                let bits = u64::from_ne_bytes(self.to_ne_bytes());
                let (low, high) = (word(bits as u32), word((bits >> 32) as u32));
                Self::from_ne_bytes((u64::from(high) << 32 | u64::from(low)).to_ne_bytes())
            }
        }
    )+};
}
shuffle_two_words!(u64, i64, f64);

/// The first and last lane of the segment that holds `lane`.
///
/// Segments are aligned to `width`, a power of two up to 32.
#[inline(always)]
fn segment(lane: u32, width: u32) -> (u32, u32) {
    let first = lane & !(width - 1);
    (first, first + width - 1)
}

/// Defines a shuffle: on the GPU the instruction, on the CPU an exchange and the choice of source that
/// the PTX manual gives for `shfl.sync`. `$source` has the lane, its segment's first and last lane
/// and the argument. Like upstream a shuffle also tells whether the source was in range; if not,
/// the lane keeps its own value.
macro_rules! shuffle {
    ($(#[$doc:meta])* $name:ident, $argument:ident, $source:expr, $intrinsic:ident, $clamp:expr) => {
        $(#[$doc])*
        ///
        /// Returns the value and whether its source was in range. `width`, a power of two up to 32,
        /// cuts the warp into segments that shuffle on their own. Of the argument, only the lowest
        /// five bits count.
        ///
        /// # Safety
        /// - Convergence.
        /// - `width` is 1, 2, 4, 8, 16 or 32.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name<T: WarpShuffleValue>(
            mask: u32,
            value: T,
            $argument: u32,
            width: u32,
        ) -> (T, bool) {
            debug_assert!(width.is_power_of_two() && width <= WARP_SIZE);
            let lane = lane_id();
            let (first, last) = segment(lane, width);
            let source: Option<u32> = $source(lane, first, last, $argument & (WARP_SIZE - 1));
            let in_range = source.is_some();
            #[cfg(target_arch = "nvptx64")]
            let shuffled = {
                let clamp = (WARP_SIZE - width) << 8 | $clamp;
                // SAFETY: as the caller vouches.
                value.shuffle_words(|word| unsafe { $intrinsic(mask, word, $argument, clamp) })
            };
            #[cfg(not(target_arch = "nvptx64"))]
            let shuffled = {
                // Taken here: inside of the closure it would be this line.
                let place = Location::caller();
                let source = source.unwrap_or(lane);
                if mask & 1 << source == 0 {
                    let (op, missing) = ("shuffle from a lane outside of its mask", 1 << source);
                    cuda_cpu::fail(cuda_cpu::FaultKind::WarpDivergence { op, place, mask, missing });
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
    /// Takes the value of the lane `delta` above, if that is in the segment.
    warp_shuffle_down, delta,
    |lane, _, last, delta| Some(lane + delta).filter(|&source| source <= last), shfl_down, 0x1f
}
shuffle! {
    /// Takes the value of the lane `delta` below, if that is in the segment.
    warp_shuffle_up, delta,
    |lane: u32, first, _, delta| lane.checked_sub(delta).filter(|&source| source >= first), shfl_up, 0
}
shuffle! {
    /// Takes the value of the lane whose index differs in the bits of `lane_mask`, if that is in the
    /// segment or, as the hardware has it, in an earlier one.
    warp_shuffle_xor, lane_mask,
    |lane, _, last, lane_mask| Some(lane ^ lane_mask).filter(|&source| source <= last), shfl_bfly, 0x1f
}
shuffle! {
    /// Takes the value of lane `source_lane` of the segment; only its bits below `width` count.
    warp_shuffle_idx, source_lane,
    |_, first, last, source_lane| Some(first + (source_lane & (last - first))), shfl_idx, 0x1f
}

/// Whether `predicate` holds in all lanes of `mask`.
///
/// # Safety
/// Convergence.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as the caller vouches.
    unsafe {
        vote_all(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate) == mask
    }
}

/// Whether `predicate` holds in any lane of `mask`.
///
/// # Safety
/// Convergence.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as the caller vouches.
    unsafe {
        vote_any(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate) != 0
    }
}

/// The lanes of `mask` in which `predicate` holds.
///
/// # Safety
/// Convergence.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as the caller vouches.
    unsafe {
        vote_ballot(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn ballot_on_cpu(mask: u32, predicate: bool) -> u32 {
    let place = Location::caller();
    let lanes = cuda_cpu::warp_exchange(WarpOp::Exchange, mask, predicate.into(), place);
    (0..WARP_SIZE).fold(0, |ballot, lane| ballot | lanes[lane as usize] << lane) & mask
}

/// Combines the values of all 32 lanes; every lane gets the result.
///
/// A butterfly of five shuffles, so the order of combination is fixed: the same bits every time.
///
/// # Safety
/// All lanes of the warp make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut lane_mask = WARP_SIZE / 2;
    while lane_mask > 0 {
        // SAFETY: all lanes take part, as the caller vouches.
        let (other, _) = unsafe { warp_shuffle_xor(FULL_MASK, value, lane_mask, WARP_SIZE) };
        value = combine(value, other);
        lane_mask /= 2;
    }
    value
}

/// Sum over all 32 lanes.
///
/// # Safety
/// All lanes of the warp make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_add<T: WarpShuffleValue + core::ops::Add<Output = T>>(value: T) -> T {
    // SAFETY: as the caller vouches.
    unsafe { warp_reduce(value, |a, b| a + b) }
}

/// Sum over all 32 lanes modulo 2³², in one instruction; every lane gets it.
///
/// # Safety
/// All lanes of the warp make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_add_u32(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as the caller vouches.
    unsafe {
        redux_add(value, FULL_MASK)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let place = Location::caller();
        let lanes = cuda_cpu::warp_exchange(WarpOp::Exchange, FULL_MASK, value, place);
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }
}

/// Minimum over all 32 lanes.
///
/// # Safety
/// All lanes of the warp make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_min<T: WarpShuffleValue + PartialOrd>(value: T) -> T {
    // SAFETY: as the caller vouches.
    unsafe { warp_reduce(value, |a, b| if b < a { b } else { a }) }
}

/// Maximum over all 32 lanes.
///
/// # Safety
/// All lanes of the warp make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce_max<T: WarpShuffleValue + PartialOrd>(value: T) -> T {
    // SAFETY: as the caller vouches.
    unsafe { warp_reduce(value, |a, b| if b > a { b } else { a }) }
}
