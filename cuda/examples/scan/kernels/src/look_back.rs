//! The states of the tiles, and the search for the total of all tiles before a tile.

use cuda_std::SliceMut;
use cuda_std::atomic::{AtomicU64, Ordering};
use cuda_std::warp::{FULL_MASK, WARP_SIZE, lane_id, warp_shuffle_xor, warp_vote_ballot};

use crate::Operator;

/// The high half of a state whose low half is the total of the tile.
const TOTAL: u64 = 1 << 32;

/// The high half of a state whose low half is the total of this and all tiles before it.
const PREFIX: u64 = 2 << 32;

/// Returns the state of the tile `at`: 0, or a kind and a number. Both are in one word, so they
/// become visible together, and no operation on the states needs an ordering.
///
/// # Safety
/// `states` must have more than `at + 1` elements, and all accesses to them must be atomic.
#[inline(always)]
unsafe fn state<'a>(states: SliceMut<u64>, at: u32) -> &'a AtomicU64 {
    // SAFETY: the caller guarantees that the element exists.
    unsafe { AtomicU64::from_ptr(states.atomic(1 + at)) }
}

/// Publishes `total`, the total of the tile `at`, and returns the total of all tiles before it.
///
/// # Safety
/// All lanes of one warp must make the same call. `states` must have more than `at + 1` elements, and
/// all accesses to them must be atomic.
#[inline(always)]
pub(crate) unsafe fn before<O: Operator>(states: SliceMut<u64>, at: u32, total: u32) -> u32 {
    let publish = |kind: u64, value: u32| {
        if lane_id() == 0 {
            // SAFETY: the caller guarantees that the element exists.
            let state = unsafe { state(states, at) };
            state.store(kind | u64::from(value), Ordering::Relaxed);
        }
    };
    if at == 0 {
        publish(PREFIX, total);
        return O::IDENTITY;
    }
    publish(TOTAL, total);
    let mut before = O::IDENTITY;
    let mut end = at;
    loop {
        // SAFETY: the caller guarantees that all lanes take part and that the elements exist.
        let (window, is_complete) = unsafe { window::<O>(states, end) };
        before = O::combine(window, before);
        if is_complete {
            break;
        }
        end -= WARP_SIZE;
    }
    publish(PREFIX, O::combine(before, total));
    before
}

/// Combines the states of the 32 tiles before the tile `end`, back to the nearest state of the kind
/// [`PREFIX`]. Returns the result, and whether there is such a state.
///
/// # Safety
/// The requirements are those of [`before`], with `end` as `at`.
#[inline(always)]
unsafe fn window<O: Operator>(states: SliceMut<u64>, end: u32) -> (u32, bool) {
    let lane = lane_id();
    let load = || {
        if lane < end {
            // SAFETY: the caller guarantees that the element exists.
            unsafe { state(states, end - 1 - lane) }.load(Ordering::Relaxed)
        } else {
            // The tiles before the first one count as a prefix without elements.
            PREFIX | u64::from(O::IDENTITY)
        }
    };
    let mut found = load();
    while found == 0 {
        found = load();
    }
    // SAFETY: the caller guarantees that all lanes take part.
    let prefixes = unsafe { warp_vote_ballot(FULL_MASK, found >= PREFIX) };
    // A higher lane has an earlier tile.
    let is_needed = lane <= prefixes.trailing_zeros();
    let mut sum = if is_needed { found as u32 } else { O::IDENTITY };
    let mut distance = 1;
    while distance < WARP_SIZE {
        // SAFETY: the caller guarantees that all lanes take part.
        let (other, _) = unsafe { warp_shuffle_xor(FULL_MASK, sum, distance, WARP_SIZE) };
        let is_earlier = lane & distance != 0;
        sum = if is_earlier { O::combine(sum, other) } else { O::combine(other, sum) };
        distance *= 2;
    }
    (sum, prefixes != 0)
}
