//! The functions with which a thread starts asynchronous copies and waits for them.

use std::panic::Location;

use super::calls::current;
use super::failure::fail;
use crate::copies::AsyncCopy;
use crate::fault::FaultKind;
use crate::{AccessKind, POISON, SharedRegion};

/// Starts a copy of `bytes` bytes from `from` to a shared region, to the `size` bytes at `offset`.
/// The rest of the destination becomes zero. The copy arrives in [`wait_for_copies`]. Until then
/// the destination is poisoned, and the check `shared` treats it as unwritten.
///
/// Ends the launch with a fault if the region belongs to another block, or if the copy races with
/// an access by another thread.
///
/// ```
/// use cuda_cpu::{Launch, commit_copies, launch, shared_static, start_copy, wait_for_copies};
///
/// static SOURCE: [u32; 2] = [5, 6];
/// launch(&Launch::new("copy", [1, 1, 1], [1, 1, 1]), &|| {
///     let tile = shared_static("tile", 8);
///     // SAFETY: the destination is inside the array, and nothing writes the source.
///     unsafe { start_copy(SOURCE.as_ptr().cast(), 8, tile, 0, 8) };
///     commit_copies();
///     wait_for_copies(0);
///     // SAFETY: the array has two words, and the copy has arrived.
///     assert_eq!(unsafe { tile.base.cast::<[u32; 2]>().read() }, SOURCE);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
///
/// # Safety
/// - The destination must be inside the region, and `bytes` at most `size`.
/// - The `bytes` bytes at `from` must be valid, and nothing may write them, until the launch ends.
#[track_caller]
pub unsafe fn start_copy(
    from: *const u8,
    bytes: usize,
    to: SharedRegion,
    offset: usize,
    size: usize,
) {
    let place = Location::caller();
    let block = current();
    if to.block != block.serial {
        fail(FaultKind::StaleHandle { what: "Shared", place });
    }
    if bytes > 0 {
        crate::global_access(from.addr(), [bytes, size], AccessKind::Load);
    }
    block.last.set(Some(place));
    if block.launch.checks.shared {
        block.check_shared(&to, offset, size, AccessKind::Store, place);
        block.shared.borrow_mut().forget_writes(to.id, offset, size);
    }
    // SAFETY: the caller guarantees that the destination is inside the region. The threads of a
    // block run on one OS thread, so no other thread accesses it meanwhile.
    unsafe { to.base.add(offset).write_bytes(POISON, size) };
    block.copies.start(block.rank.get(), AsyncCopy { from, bytes, to, offset, size, place });
}

/// Combines the copies that the running thread has started since the last call into a group. A
/// group may be empty.
///
/// ```
/// use cuda_cpu::{Launch, commit_copies, launch, wait_for_copies};
///
/// launch(&Launch::new("empty_groups", [1, 1, 1], [32, 1, 1]), &|| {
///     commit_copies();
///     commit_copies();
///     wait_for_copies(1);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
pub fn commit_copies() {
    let block = current();
    block.copies.commit(block.rank.get());
}

/// Waits until at most `kept` of the latest groups of the running thread are in flight: the copies
/// of all earlier groups arrive.
///
/// Ends the launch with a fault if a copy races with an access by another thread.
///
/// ```
/// use cuda_cpu::{Launch, commit_copies, launch, shared_static, start_copy, wait_for_copies};
///
/// static SOURCE: [u32; 2] = [5, 6];
/// launch(&Launch::new("two_groups", [1, 1, 1], [1, 1, 1]), &|| {
///     let tile = shared_static("tile", 8);
///     for i in 0..2 {
///         // SAFETY: the destination is inside the array, and nothing writes the source.
///         unsafe { start_copy(SOURCE[i..].as_ptr().cast(), 4, tile, 4 * i, 4) };
///         commit_copies();
///     }
///     // The first copy arrives. The second one may remain in flight.
///     wait_for_copies(1);
///     // SAFETY: the word is inside the array, and its copy has arrived.
///     assert_eq!(unsafe { tile.base.cast::<u32>().read() }, 5);
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
pub fn wait_for_copies(kept: usize) {
    let block = current();
    for copy in block.copies.arrive(block.rank.get(), kept) {
        let AsyncCopy { from, bytes, to, offset, size, place } = copy;
        if block.launch.checks.shared {
            block.check_shared(&to, offset, size, AccessKind::Store, place);
        }
        // SAFETY: the caller of `start_copy` guarantees that the source is still valid and that the
        // destination is inside the region, which lives as long as the block.
        unsafe {
            let to = to.base.add(offset);
            to.copy_from(from, bytes);
            to.add(bytes).write_bytes(0, size - bytes);
        }
    }
}
