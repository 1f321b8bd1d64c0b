//! Kernels with warp votes, and an exchange through shared memory that only `sync_warp` orders.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::{global_rank, holds_whole_warps, load_or_zero, whole_warps};

/// Each thread votes whether its value is greater than `limit`. It writes the results of
/// `warp_vote_all`, `warp_vote_any` and `warp_vote_ballot`.
#[kernel]
pub fn vote(input: Slice<u32>, limit: u32, out: SliceMut<[u32; 3]>) {
    let at = global_rank();
    if !whole_warps() {
        return;
    }
    let over = load_or_zero(input, at) > limit;
    // SAFETY: every warp has 32 lanes, which reach this call together.
    let votes = unsafe {
        [
            warp::warp_vote_all(FULL_MASK, over).into(),
            warp::warp_vote_any(FULL_MASK, over).into(),
            warp::warp_vote_ballot(FULL_MASK, over),
        ]
    };
    if at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, votes) };
    }
}

/// Does the same as [`vote`] in the even lanes of each warp. Odd lanes write nothing.
#[kernel]
pub fn vote_even(input: Slice<u32>, limit: u32, out: SliceMut<[u32; 3]>) {
    const EVEN: u32 = 0x5555_5555;
    let at = global_rank();
    if !holds_whole_warps(input.len(), out.len()) {
        return;
    }
    if EVEN & 1 << warp::lane_id() != 0 && at < input.len() {
        // SAFETY: `at` is in bounds. All or no lanes of a warp have elements, so exactly the even
        // lanes reach this call.
        unsafe {
            let over = input.load(at) > limit;
            let all = warp::warp_vote_all(EVEN, over).into();
            let any = warp::warp_vote_any(EVEN, over).into();
            out.store(at, [all, any, warp::warp_vote_ballot(EVEN, over)]);
        }
    }
}

/// Each lane passes its value to lane `lane ^ lane_mask` through shared memory, with only
/// `sync_warp` in between.
#[kernel(launch_bounds(256))]
pub fn exchange_in_warp(input: Slice<u32>, out: SliceMut<u32>, lane_mask: u32) {
    let tile = shared_array![u32; 256];
    let (at, rank) = (global_rank(), thread::rank());
    if !whole_warps() || lane_mask >= warp::WARP_SIZE {
        return;
    }
    // SAFETY: a block has at most 256 threads, and `at` is checked below. Every warp has 32 lanes,
    // and only lanes of the same warp exchange values.
    unsafe {
        tile.store(rank, load_or_zero(input, at));
        warp::sync_warp(FULL_MASK);
        let value = tile.load(rank ^ lane_mask);
        if at < out.len() {
            out.store(at, value);
        }
    }
}
