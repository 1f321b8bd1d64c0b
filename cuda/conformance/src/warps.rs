//! Kernels with reductions over some lanes of a warp, matches, shuffles of values of every width,
//! and barriers that count or combine a predicate.

use cuda_std::prelude::*;
use cuda_std::warp::WarpReductionOp::{Add, And, Max, Min, Or, Xor};
use half::{bf16, f16};

use crate::{global_rank, holds_whole_warps, load_or_zero, whole_warps};

/// Defines a kernel in which each lane of `mask` writes all six reductions over these lanes.
macro_rules! reduce_lanes {
    ($name:ident, $type:ty) => {
        #[doc = concat!("Reduces `", stringify!($type), "` over the lanes of `mask` in six ways.")]
        #[kernel]
        pub fn $name(input: Slice<$type>, out: SliceMut<[$type; 6]>, mask: u32) {
            let at = global_rank();
            if !holds_whole_warps(input.len(), out.len()) {
                return;
            }
            if mask & 1 << warp::lane_id() != 0 && at < input.len() {
                // SAFETY: `at` is in bounds, and each thread writes its own element. All or no
                // lanes of a warp have elements, so exactly the lanes of `mask` reach this
                // call.
                unsafe {
                    let value = input.load(at);
                    let reduce = |op| warp::warp_reduce(mask, value, op);
                    let reduced = [
                        reduce(Add),
                        reduce(Min),
                        reduce(Max),
                        reduce(And),
                        reduce(Or),
                        reduce(Xor),
                    ];
                    out.store(at, reduced);
                }
            }
        }
    };
}

reduce_lanes!(reduce_lanes_i8, i8);
reduce_lanes!(reduce_lanes_u8, u8);
reduce_lanes!(reduce_lanes_i16, i16);
reduce_lanes!(reduce_lanes_u16, u16);
reduce_lanes!(reduce_lanes_i32, i32);
reduce_lanes!(reduce_lanes_u32, u32);
reduce_lanes!(reduce_lanes_i64, i64);
reduce_lanes!(reduce_lanes_u64, u64);

/// Calls `warp_match_any` and `warp_match_all` for the values of each warp, as 32-bit and as 64-bit
/// numbers.
#[kernel]
pub fn match_lanes(input: Slice<u32>, out: SliceMut<[u32; 4]>) {
    let at = global_rank();
    if !whole_warps() {
        return;
    }
    let value = load_or_zero(input, at);
    // The low word is the same in all lanes, so only the high word decides whether values match.
    let wide = u64::from(value) << 32 | 7;
    // SAFETY: every warp has 32 lanes, which reach this call together.
    let matches = unsafe {
        [
            warp::warp_match_any(warp::FULL_MASK, value),
            warp::warp_match_all(warp::FULL_MASK, value).unwrap_or(0),
            warp::warp_match_any(warp::FULL_MASK, wide),
            warp::warp_match_all(warp::FULL_MASK, wide).unwrap_or(0),
        ]
    };
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, matches) };
    }
}

/// Each lane converts its value to types of 8, 16 and 128 bits, exchanges the results with lane
/// `lane ^ lane_mask`, and writes the received values as `u64`.
#[kernel]
pub fn shuffle_widths(input: Slice<u64>, out: SliceMut<[u64; 8]>, lane_mask: u32) {
    let at = global_rank();
    if !whole_warps() || lane_mask >= warp::WARP_SIZE {
        return;
    }
    let v = load_or_zero(input, at);
    // SAFETY: every warp has 32 lanes, which reach this call together.
    unsafe {
        macro_rules! swap {
            ($value:expr) => {
                warp::warp_shuffle_xor(warp::FULL_MASK, $value, lane_mask, warp::WARP_SIZE).0
            };
        }
        let wide = swap!(u128::from(v) << 40 | u128::from(v));
        let signed = swap!(-i128::from(v));
        let swapped = [
            swap!(v as u8).into(),
            swap!(v as i8) as u64,
            swap!(v as u16).into(),
            swap!(v as i16) as u64,
            swap!(f16::from_bits(v as u16)).to_bits().into(),
            swap!(bf16::from_bits(v as u16)).to_bits().into(),
            (wide ^ wide >> 64) as u64,
            (signed ^ signed >> 64) as u64,
        ];
        if at < out.len() {
            out.store(at, swapped);
        }
    }
}

/// Each block counts its values that are greater than `limit`, tests whether all values are
/// greater, and tests whether any value is greater. Each result needs one barrier.
#[kernel(barriers(3))]
pub fn count_at_barrier(input: Slice<u32>, limit: u32, out: SliceMut<[u32; 3]>) {
    let at = global_rank();
    // The predicate of these barriers is a number, and any number except 0 is true.
    let over = load_or_zero(input, at).saturating_sub(limit);
    let counts = [
        thread::sync_threads_count(over),
        thread::sync_threads_and(over),
        thread::sync_threads_or(over),
    ];
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, counts) };
    }
}
