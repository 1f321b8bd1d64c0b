//! Prefix sums in one pass over memory: the decoupled look-back of Merrill and Garland ("Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", 2016).
//!
//! A block scans one tile of the input. It publishes the tile's total as soon as it knows it. Then it
//! adds up the totals of the tiles before it, backwards, until it finds a tile that has published the
//! total of everything up to its end. The input is therefore read once, and the output is written
//! once.

mod look_back;
mod operator;
mod tile;

use cuda_std::atomic::{AtomicU64, Ordering};
use cuda_std::prelude::*;

pub use operator::{Max, Operator, Sum};

use tile::Tile;

/// The number of threads per block.
pub const BLOCK: u32 = 256;

/// The number of elements that a block scans.
pub const TILE: u32 = BLOCK * tile::PER_THREAD;

/// Writes to element `i` of `out` the combination of the elements 0 to `i` of `input`.
///
/// The first element of `states` counts the tiles that blocks have begun, and each further element
/// is the state of a tile; all of them must be 0 before the launch. The grid needs a block for each
/// tile. Does nothing if a slice is too short or a block does not have [`BLOCK`] threads.
#[kernel(
    dims(1),
    launch_bounds(BLOCK, 4),
    instances(inclusive_sum = inclusive::<Sum>, inclusive_max = inclusive::<Max>)
)]
pub fn inclusive<O: Operator>(input: Slice<u32>, states: SliceMut<u64>, out: SliceMut<u32>) {
    let broadcast = shared_array![u32; 2];
    let (rank, tiles) = (thread::thread_idx_x(), input.len().div_ceil(TILE));
    if thread::block_dim_x() != BLOCK || out.len() < input.len() || states.len() <= tiles {
        return;
    }
    // Blocks take tiles in the order in which they begin, so a block waits only for blocks that run.
    if rank == 0 {
        // SAFETY: `states` has more than `tiles` elements, and all accesses to it are atomic.
        let next = unsafe { AtomicU64::from_ptr(states.atomic(0)) };
        // SAFETY: the element exists, and only this thread writes it.
        unsafe { broadcast.store(0, next.fetch_add(1, Ordering::Relaxed) as u32) };
    }
    thread::sync_threads();
    // SAFETY: the first thread wrote the element before the barrier.
    let at = unsafe { broadcast.load(0) };
    if at >= tiles {
        return;
    }

    let mut tile = Tile::load::<O>(input, at * TILE);
    let total = tile.scan::<O>();
    // The first warp looks back, and passes the result to the others through shared memory.
    if rank < warp::WARP_SIZE {
        // SAFETY: all lanes of the first warp make this call, and `states` has an element for each
        // tile after the first element.
        let before = unsafe { look_back::before::<O>(states, at, total) };
        if rank == 0 {
            // SAFETY: the element exists, and only this thread writes it.
            unsafe { broadcast.store(1, before) };
        }
    }
    thread::sync_threads();
    // SAFETY: the first thread wrote the element before the barrier.
    let before = unsafe { broadcast.load(1) };
    // SAFETY: `out` is as long as `input`, and no other block has the same tile.
    unsafe { tile.store::<O>(before, out, at * TILE, input.len()) };
}
