//! The functions that kernels call through `cuda_std`. They act on the running thread of the
//! current block.

use std::panic::Location;

use super::failure::fail;
use super::spin::spin;
use super::waiting::{Reason, Wait};
use super::{Block, CHECKS_GLOBAL, CURRENT, LAUNCH};
use crate::fault::FaultKind;
use crate::{AccessKind, SharedRegion, WARP_SIZE, WarpOp};

/// The name of the dynamic shared region in reports.
const DYNAMIC: &str = "dynamic shared memory";

/// Returns the block that this OS thread runs.
#[inline]
fn current<'a>() -> &'a Block<'a> {
    let block = CURRENT.get();
    assert!(
        !block.is_null(),
        "a GPU function was called outside a kernel launch; call it only in a kernel"
    );
    // SAFETY: the pointer is not null, so a caller on this stack is `run`, which owns the block. No
    // function of this module returns the reference.
    unsafe { &*block }
}

/// Returns the id of the current launch: unique in the process and never 0. Returns 0 outside a
/// launch.
///
/// Each handle of a kernel (slice, view or texture) stores the id of its launch, and safe functions
/// compare it with this id. If a kernel uses a handle of an earlier launch, the result is a
/// [`FaultKind::StaleHandle`] instead of an access to memory that may have been freed.
#[inline]
#[must_use]
pub fn launch_id() -> u64 {
    LAUNCH.get()
}

/// Returns the index of the running thread in its block, along x, y and z.
#[inline]
#[must_use]
pub fn thread_idx() -> [u32; 3] {
    current().thread.get()
}

/// Returns the linear index of the running thread in its block, with x fastest. The thread's warp
/// is this index divided by 32.
#[inline]
#[must_use]
pub fn thread_rank() -> u32 {
    current().rank.get()
}

/// Returns the index of the running block in its grid, along x, y and z.
#[inline]
#[must_use]
pub fn block_idx() -> [u32; 3] {
    current().index
}

/// Returns the number of threads per block along x, y and z.
#[inline]
#[must_use]
pub fn block_dim() -> [u32; 3] {
    current().launch.block
}

/// Returns the number of blocks in the grid along x, y and z.
#[inline]
#[must_use]
pub fn grid_dim() -> [u32; 3] {
    current().launch.grid
}

/// Waits until every thread of the block is at this barrier.
///
/// In a destructor that runs during unwinding, the function returns at once, because the block has
/// failed.
#[inline]
#[track_caller]
pub fn sync_threads() {
    let (place, reason) = (Location::caller(), Reason::Barrier);
    current().wait(Wait { place, reason, mask: 0 });
}

/// Waits like [`sync_threads`], and returns the number of threads whose `predicate` is true.
///
/// In a destructor that runs during unwinding, the function returns at once, with the count of the
/// last completed barrier.
#[inline]
#[track_caller]
#[must_use]
pub fn sync_threads_count(predicate: bool) -> u32 {
    let block = current();
    block.votes.set(block.votes.get() + u32::from(predicate));
    sync_threads();
    block.counted.get()
}

/// Waits until every lane of `mask` has called this function with the same `op` and `mask`, and
/// returns the value that each lane of the warp offered. For a lane outside `mask`, that is the
/// value that it offered last. `place` is the source position of the call, which must be the same
/// for all lanes of an exchange.
///
/// In a destructor that runs during unwinding, the function returns at once, with this thread's
/// value for all lanes, because the block has failed.
#[inline]
pub fn warp_exchange(
    op: WarpOp,
    mask: u32,
    value: u32,
    place: &'static Location<'static>,
) -> [u32; WARP_SIZE as usize] {
    let block = current();
    let rank = block.rank.get();
    if mask & 1 << (rank % WARP_SIZE) == 0 {
        let missing = 1 << (rank % WARP_SIZE);
        fail(FaultKind::WarpDivergence { op: op.name(), place, mask, missing });
    }
    if op == WarpOp::Exchange {
        let mut offered = block.offered.borrow_mut();
        offered.resize(block.threads as usize, 0);
        offered[rank as usize] = value;
    }
    let reason = match op {
        WarpOp::Exchange => Reason::Exchange,
        WarpOp::Sync => Reason::SyncWarp,
    };
    block.wait(Wait { place, reason, mask });
    if block.has_failed.get() {
        return [value; WARP_SIZE as usize];
    }
    block.taken.get()
}

/// Returns the block's static shared array of `bytes` bytes that is identified by `name`.
/// `cuda_std` derives the name from the source position of the declaration.
#[must_use]
pub fn shared_static(name: &'static str, bytes: usize) -> SharedRegion {
    let block = current();
    let region = block.shared.borrow_mut().region(name, bytes, block.serial);
    region.unwrap_or_else(|fault| fail(fault))
}

/// Returns the block's dynamic shared memory.
#[must_use]
pub fn shared_dynamic() -> SharedRegion {
    shared_static(DYNAMIC, current().launch.dynamic_shared)
}

/// Returns the size of the block's shared memory in bytes: dynamic memory, and the static arrays
/// that a thread has reached so far.
#[must_use]
pub fn shared_bytes() -> usize {
    // This call makes dynamic shared memory a region, so that its bytes count.
    let _ = shared_dynamic();
    current().shared.borrow().bytes()
}

/// Returns whether an address is in the block's shared memory.
#[must_use]
pub fn is_shared(address: usize) -> bool {
    current().shared.borrow().contains(address)
}

/// Ends the launch with a fault if `region` belongs to another block, if an access to its `size`
/// bytes at `offset` races with an earlier one, or if it reads bytes that no thread has written.
/// The bytes must be inside the region. The caller's source position appears in the fault.
#[inline]
#[track_caller]
pub fn shared_access(region: &SharedRegion, offset: usize, size: usize, kind: AccessKind) {
    let place = Location::caller();
    let block = current();
    if region.block != block.serial {
        fail(FaultKind::StaleHandle { what: "Shared" });
    }
    block.last.set(Some(place));
    if block.launch.checks.shared {
        block.check_shared(region, offset, size, kind, place);
    }
}

/// Stops reporting reads of unwritten bytes in the shared array that contains `address`, because
/// the kernel may write them through a raw pointer.
pub fn shared_untracked(address: usize) {
    current().shared.borrow_mut().assume_written(address);
}

/// Ends the launch with a fault if an access to `size` bytes of global memory at `address` races
/// with an earlier one. Does nothing unless the launch checks global memory. The caller's source
/// position appears in the fault.
#[inline]
#[track_caller]
pub fn global_access(address: usize, size: usize, kind: AccessKind) {
    if CHECKS_GLOBAL.get() {
        current().check_global(address, size, kind, Location::caller());
    }
}

/// Checks an atomic access to `size` bytes at `address`, and lets other threads run if the thread
/// executes many atomics. `is_load` is true for an access that does not write. `releases` is true
/// if the ordering of the access contains a release.
///
/// Ends the launch with a fault if the address is not a multiple of `size`, or if the access races
/// with an earlier one that is not atomic. Does nothing outside a launch.
#[inline]
#[track_caller]
pub fn atomic_access(address: usize, size: usize, is_load: bool, releases: bool) {
    let block = CURRENT.get();
    if block.is_null() {
        return;
    }
    spin(is_load);
    if address & (size - 1) != 0 {
        let place = Location::caller();
        let (access, align) = (AccessKind::Atomic, size);
        fail(FaultKind::Misaligned { access, address, align, place });
    }
    if CHECKS_GLOBAL.get() {
        let block = current();
        block.check_global(address, size, AccessKind::Atomic, Location::caller());
        block.synchronise(address, releases);
    }
}

/// Records a fence of the running thread: the block's later atomics publish its earlier accesses.
/// Does nothing outside a launch.
#[inline]
pub fn fence() {
    let block = CURRENT.get();
    if !block.is_null() {
        current().has_fenced.set(true);
    }
}

/// Calls `read` with the words of the constant `symbol`, or with `None` if the host never set it.
#[inline]
pub fn with_constant<R>(symbol: &str, read: impl FnOnce(Option<&[u128]>) -> R) -> R {
    read(current().launch.constants.get(symbol))
}
