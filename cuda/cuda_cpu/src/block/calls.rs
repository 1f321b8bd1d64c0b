//! The functions that kernels call through `cuda_std`. They act on the running thread of the
//! current block.

use std::cell::Cell;
use std::panic::Location;

use super::Block;
use super::current::{current, running, watches_global};
use super::failure::fail;
use super::spin::spin;
use super::waiting::{Reason, Wait, WarpOp};
use crate::fault::FaultKind;
use crate::stacks::claim_headroom;
use crate::{AccessKind, SharedRegion, WARP_SIZE};

/// The name of the dynamic shared region in reports.
const DYNAMIC: &str = "dynamic shared memory";

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
#[inline(always)]
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
#[inline(always)]
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
        let (op, others) = (op.name(), None);
        fail(FaultKind::WarpDivergence { op, place, mask, missing, others });
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
    current().shared.borrow().find(address).is_some()
}

/// Ends the launch with a fault if `region` belongs to another block, if an access to its `size`
/// bytes at `offset` races with an earlier one, or if it reads bytes that no thread has written.
/// The bytes must be inside the region. `align` is the alignment of the type. The caller's source
/// position appears in the fault and in the profile. An atomic access also lets other threads run,
/// as in [`atomic_access`].
#[inline(always)]
#[track_caller]
pub fn shared_access(region: &SharedRegion, offset: usize, layout: [usize; 2], kind: AccessKind) {
    let place = Location::caller();
    let block = current();
    if region.block != block.serial {
        fail(FaultKind::StaleHandle { what: "Shared", place });
    }
    block.last.set(Some(place));
    // Without a check, an access is so short that a call would take most of its time.
    if block.watches_shared || kind == AccessKind::Atomic {
        note_shared(block, region, offset, layout, kind, place);
    }
}

/// Checks and profiles an access to shared memory.
fn note_shared(
    block: &Block<'_>,
    region: &SharedRegion,
    offset: usize,
    [size, align]: [usize; 2],
    kind: AccessKind,
    place: &'static Location<'static>,
) {
    if block.launch.checks.shared {
        block.check_shared(region, offset, size, kind, place);
    }
    if block.trace.is_some() {
        block.profile(Some([region.id, offset]), offset, [size, align], kind, place);
    }
    if kind == AccessKind::Atomic {
        spin(false);
        block.order_threads(region.base.addr() + offset, false);
    }
}

/// Stops reporting reads of unwritten bytes in the shared array that contains `address`, because
/// the kernel may write them through a raw pointer.
pub fn shared_untracked(address: usize) {
    current().shared.borrow_mut().assume_written(address);
}

/// Ends the launch with a fault if an access to `size` bytes of global memory at `address` races
/// with an earlier one. Does nothing unless the launch checks or profiles global memory. `align` is
/// the alignment of the type. The caller's source position appears in the fault and in the profile.
#[inline]
#[track_caller]
pub fn global_access(address: usize, [size, align]: [usize; 2], kind: AccessKind) {
    if watches_global() {
        let (block, place) = (current(), Location::caller());
        block.check_global(address, size, kind, place);
        block.profile_generic(address, [size, align], kind, place);
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
    let Some(block) = running() else { return };
    spin(is_load);
    if address & (size - 1) != 0 {
        let place = Location::caller();
        let (access, align) = (AccessKind::Atomic, size);
        fail(FaultKind::Misaligned { access, address, align, place });
    }
    block.order_threads(address, releases);
    if watches_global() {
        let place = Location::caller();
        if block.shared.borrow().find(address).is_none() {
            block.check_global(address, size, AccessKind::Atomic, place);
            block.synchronise(address, releases);
        }
        let kind = if is_load { AccessKind::Load } else { AccessKind::Atomic };
        block.profile_generic(address, [size, size], kind, place);
    }
}

/// Records a fence of the running thread: the block's later atomics publish its earlier accesses.
/// Does nothing outside a launch.
#[inline]
pub fn fence() {
    if let Some(block) = running() {
        block.has_fenced.set(true);
    }
}

/// Calls `f`, and lets the watchdog stop the running thread only afterwards.
///
/// A stopped thread keeps its locks forever, so a function that takes a lock runs in here. Ends the
/// launch with a stack overflow before the call if little of the stack is left.
pub(super) fn uninterrupted<R>(f: impl FnOnce() -> R) -> R {
    struct Reset<'a>(&'a Cell<bool>, bool);
    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    claim_headroom();
    let is_uninterrupted = &current().is_uninterrupted;
    let _reset = Reset(is_uninterrupted, is_uninterrupted.replace(true));
    f()
}

/// Calls `read` with the words of the constant `symbol`, or with `None` if the host never set it.
#[inline]
pub fn with_constant<R>(symbol: &str, read: impl FnOnce(Option<&[u128]>) -> R) -> R {
    read(current().launch.constants.get(symbol))
}
