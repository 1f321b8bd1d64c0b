//! The functions that kernels call through `cuda_std`. They act on the running thread of the
//! current block.

use std::cell::Cell;
use std::panic::Location;

use super::failure::fail;
use super::spin::spin;
use super::waiting::{Reason, Wait};
use super::{Block, CURRENT, LAUNCH, WATCHES_GLOBAL};
use crate::fault::FaultKind;
use crate::stacks::claim_headroom;
use crate::{AccessKind, SharedRegion, WARP_SIZE, WarpOp};

/// The name of the dynamic shared region in reports.
const DYNAMIC: &str = "dynamic shared memory";

/// Returns the block that this OS thread runs.
#[inline]
pub(super) fn current<'a>() -> &'a Block<'a> {
    let block = CURRENT.get();
    assert!(
        !block.is_null(),
        "a GPU function was called outside a kernel launch; call it only in a kernel"
    );
    // SAFETY: the pointer is not null, so a caller on this stack is `run`, which owns the block. No
    // caller returns the reference.
    unsafe { &*block }
}

/// Returns the id of the current launch: unique in the process and never 0. Returns 0 outside a
/// launch.
///
/// Each handle of a kernel (slice, view or texture) stores the id of its launch, and safe functions
/// compare it with this id. If a kernel uses a handle of an earlier launch, the result is a
/// [`FaultKind::StaleHandle`] instead of an access to memory that may have been freed.
///
/// ```
/// use cuda_cpu::{Launch, launch, launch_id};
///
/// launch(&Launch::new("id", [1, 1, 1], [1, 1, 1]), &|| assert!(launch_id() > 0))?;
/// assert_eq!(launch_id(), 0);
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn launch_id() -> u64 {
    LAUNCH.get()
}

/// Returns the index of the running thread in its block, along x, y and z.
///
/// ```
/// use cuda_cpu::{Launch, block_dim, launch, thread_idx, thread_rank};
///
/// launch(&Launch::new("index", [1, 1, 1], [8, 4, 1]), &|| {
///     let ([x, y, _], [width, ..]) = (thread_idx(), block_dim());
///     assert_eq!(thread_rank(), y * width + x);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn thread_idx() -> [u32; 3] {
    current().thread.get()
}

/// Returns the linear index of the running thread in its block, with x fastest. The thread's warp
/// is this index divided by 32.
///
/// ```
/// use cuda_cpu::{Launch, launch, thread_idx, thread_rank};
///
/// launch(&Launch::new("rank", [1, 1, 1], [8, 4, 1]), &|| {
///     if thread_idx() == [2, 1, 0] {
///         assert_eq!(thread_rank(), 10);
///     }
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn thread_rank() -> u32 {
    current().rank.get()
}

/// Returns the index of the running block in its grid, along x, y and z.
///
/// ```
/// use cuda_cpu::{Launch, block_idx, grid_dim, launch};
///
/// launch(&Launch::new("blocks", [3, 2, 1], [1, 1, 1]), &|| {
///     let ([x, y, z], [columns, rows, _]) = (block_idx(), grid_dim());
///     assert!(x < columns && y < rows && z == 0);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn block_idx() -> [u32; 3] {
    current().index
}

/// Returns the number of threads per block along x, y and z.
///
/// ```
/// use cuda_cpu::{Launch, block_dim, launch};
///
/// launch(&Launch::new("size", [1, 1, 1], [8, 4, 1]), &|| assert_eq!(block_dim(), [8, 4, 1]))?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn block_dim() -> [u32; 3] {
    current().launch.block
}

/// Returns the number of blocks in the grid along x, y and z.
///
/// ```
/// use cuda_cpu::{Launch, grid_dim, launch};
///
/// launch(&Launch::new("size", [3, 2, 1], [32, 1, 1]), &|| assert_eq!(grid_dim(), [3, 2, 1]))?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
#[must_use]
pub fn grid_dim() -> [u32; 3] {
    current().launch.grid
}

/// Waits until every thread of the block is at this barrier.
///
/// In a destructor that runs during unwinding, the function returns at once, because the block has
/// failed.
///
/// ```
/// use cuda_cpu::{Launch, launch, sync_threads};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let arrived = AtomicU32::new(0);
/// launch(&Launch::new("barrier", [1, 1, 1], [64, 1, 1]), &|| {
///     arrived.fetch_add(1, Relaxed);
///     sync_threads();
///     assert_eq!(arrived.load(Relaxed), 64);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_cpu::{Launch, launch, sync_threads_count, thread_rank};
///
/// launch(&Launch::new("count", [1, 1, 1], [64, 1, 1]), &|| {
///     assert_eq!(sync_threads_count(thread_rank() < 10), 10);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_cpu::{Launch, WarpOp, launch, thread_rank, warp_exchange};
/// use std::panic::Location;
///
/// launch(&Launch::new("sum", [1, 1, 1], [32, 1, 1]), &|| {
///     let place = Location::caller();
///     let lanes = warp_exchange(WarpOp::Exchange, u32::MAX, thread_rank(), place);
///     assert_eq!(lanes.iter().sum::<u32>(), 496);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_cpu::{Launch, launch, shared_static};
///
/// launch(&Launch::new("tile", [1, 1, 1], [32, 1, 1]), &|| {
///     // All threads of the block get the same array.
///     let tile = shared_static("tile", 256);
///     assert_eq!((tile.bytes, tile.base.addr() % 16), (256, 0));
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[must_use]
pub fn shared_static(name: &'static str, bytes: usize) -> SharedRegion {
    let block = current();
    let region = block.shared.borrow_mut().region(name, bytes, block.serial);
    region.unwrap_or_else(|fault| fail(fault))
}

/// Returns the block's dynamic shared memory.
///
/// ```
/// use cuda_cpu::{Launch, launch, shared_dynamic};
///
/// let config = Launch { dynamic_shared: 512, ..Launch::new("tile", [1, 1, 1], [32, 1, 1]) };
/// launch(&config, &|| assert_eq!(shared_dynamic().bytes, 512))?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[must_use]
pub fn shared_dynamic() -> SharedRegion {
    shared_static(DYNAMIC, current().launch.dynamic_shared)
}

/// Returns the size of the block's shared memory in bytes: dynamic memory, and the static arrays
/// that a thread has reached so far.
///
/// ```
/// use cuda_cpu::{Launch, launch, shared_bytes, shared_static};
///
/// let config = Launch { dynamic_shared: 512, ..Launch::new("tiles", [1, 1, 1], [1, 1, 1]) };
/// launch(&config, &|| {
///     assert_eq!(shared_bytes(), 512);
///     let _ = shared_static("tile", 256);
///     assert_eq!(shared_bytes(), 768);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[must_use]
pub fn shared_bytes() -> usize {
    // This call makes dynamic shared memory a region, so that its bytes count.
    let _ = shared_dynamic();
    current().shared.borrow().bytes()
}

/// Returns whether an address is in the block's shared memory.
///
/// ```
/// use cuda_cpu::{Launch, is_shared, launch, shared_static};
///
/// launch(&Launch::new("space", [1, 1, 1], [1, 1, 1]), &|| {
///     let (tile, local) = (shared_static("tile", 64), 0);
///     assert!(is_shared(tile.base.addr()));
///     assert!(!is_shared((&raw const local).addr()));
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[must_use]
pub fn is_shared(address: usize) -> bool {
    current().shared.borrow().contains(address)
}

/// Ends the launch with a fault if `region` belongs to another block, if an access to its `size`
/// bytes at `offset` races with an earlier one, or if it reads bytes that no thread has written.
/// The bytes must be inside the region. `align` is the alignment of the type. The caller's source
/// position appears in the fault and in the profile. An atomic access also lets other threads run,
/// as in [`atomic_access`].
///
/// ```
/// use cuda_cpu::{AccessKind, Checks, FaultKind, Launch, launch, shared_access, shared_static};
///
/// let checks = Checks { shared: true, ..Checks::default() };
/// let config = Launch { checks, ..Launch::new("race", [1, 1, 1], [2, 1, 1]) };
/// let fault = launch(&config, &|| {
///     // Both threads store to the same word.
///     shared_access(&shared_static("tile", 64), 0, [4, 4], AccessKind::Store);
/// });
/// assert!(matches!(fault.unwrap_err().kind, FaultKind::SharedRace { other: 0, offset: 0, .. }));
/// ```
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
        block.profile_shared(region, offset, [size, align], kind, place);
    }
    if kind == AccessKind::Atomic {
        spin(false);
        block.order_threads(region.base.addr() + offset, false);
    }
}

/// Stops reporting reads of unwritten bytes in the shared array that contains `address`, because
/// the kernel may write them through a raw pointer.
///
/// ```
/// use cuda_cpu::{AccessKind, Launch, launch, shared_access, shared_static, shared_untracked};
///
/// launch(&Launch::new("raw", [1, 1, 1], [1, 1, 1]), &|| {
///     let tile = shared_static("tile", 64);
///     shared_untracked(tile.base.addr());
///     // SAFETY: the word is inside the array, and no other thread accesses it.
///     unsafe { tile.base.cast::<u32>().write(7) };
///     // Without the call above, this load would be a read of unwritten memory.
///     shared_access(&tile, 0, [4, 4], AccessKind::Load);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
pub fn shared_untracked(address: usize) {
    current().shared.borrow_mut().assume_written(address);
}

/// Ends the launch with a fault if an access to `size` bytes of global memory at `address` races
/// with an earlier one. Does nothing unless the launch checks or profiles global memory. `align` is
/// the alignment of the type. The caller's source position appears in the fault and in the profile.
///
/// ```
/// use cuda_cpu::{AccessKind, Checks, FaultKind, Launch, global_access, launch};
///
/// let checks = Checks { global: true, ..Checks::default() };
/// let config = Launch { checks, ..Launch::new("race", [2, 1, 1], [1, 1, 1]) };
/// // Both blocks store to the same word.
/// let fault = launch(&config, &|| global_access(0x1000, [4, 4], AccessKind::Store));
/// assert!(matches!(fault.unwrap_err().kind, FaultKind::GlobalRace { .. }));
/// ```
#[inline]
#[track_caller]
pub fn global_access(address: usize, [size, align]: [usize; 2], kind: AccessKind) {
    if WATCHES_GLOBAL.get() {
        let (block, place) = (current(), Location::caller());
        block.check_global(address, size, kind, place);
        block.profile_global(address, [size, align], kind, place);
    }
}

/// Checks an atomic access to `size` bytes at `address`, and lets other threads run if the thread
/// executes many atomics. `is_load` is true for an access that does not write. `releases` is true
/// if the ordering of the access contains a release.
///
/// Ends the launch with a fault if the address is not a multiple of `size`, or if the access races
/// with an earlier one that is not atomic. Does nothing outside a launch.
///
/// ```
/// use cuda_cpu::{FaultKind, Launch, atomic_access, launch};
///
/// let config = Launch::new("misaligned", [1, 1, 1], [1, 1, 1]);
/// let fault = launch(&config, &|| atomic_access(0x1002, 4, false, false));
/// assert!(matches!(fault.unwrap_err().kind, FaultKind::Misaligned { address: 0x1002, .. }));
/// ```
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
    let block = current();
    block.order_threads(address, releases);
    if WATCHES_GLOBAL.get() {
        let place = Location::caller();
        if !block.shared.borrow().contains(address) {
            block.check_global(address, size, AccessKind::Atomic, place);
            block.synchronise(address, releases);
        }
        let kind = if is_load { AccessKind::Load } else { AccessKind::Atomic };
        block.profile_global(address, [size, size], kind, place);
    }
}

/// Records a fence of the running thread: the block's later atomics publish its earlier accesses.
/// Does nothing outside a launch.
///
/// ```
/// use cuda_cpu::{AccessKind, Checks, Launch, launch};
/// use cuda_cpu::{atomic_access, block_idx, fence, global_access};
///
/// let checks = Checks { global: true, ..Checks::default() };
/// let config = Launch { checks, ..Launch::new("publish", [2, 1, 1], [1, 1, 1]) };
/// let (data, flag) = (0x1000, 0x2000);
/// // With this check, block 0 runs before block 1, which therefore sees the flag.
/// launch(&config, &|| match block_idx() {
///     [0, ..] => {
///         global_access(data, [4, 4], AccessKind::Store);
///         fence();
///         atomic_access(flag, 4, false, false);
///     }
///     _ => {
///         atomic_access(flag, 4, true, false);
///         fence();
///         global_access(data, [4, 4], AccessKind::Load);
///     }
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
pub fn fence() {
    let block = CURRENT.get();
    if !block.is_null() {
        current().has_fenced.set(true);
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
///
/// ```
/// use cuda_cpu::{Launch, launch, with_constant};
///
/// launch(&Launch::new("constant", [1, 1, 1], [1, 1, 1]), &|| {
///     assert!(with_constant("SCALE", |words| words.is_none()));
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[inline]
pub fn with_constant<R>(symbol: &str, read: impl FnOnce(Option<&[u128]>) -> R) -> R {
    read(current().launch.constants.get(symbol))
}
