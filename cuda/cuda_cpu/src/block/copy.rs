//! Asynchronous copies from global to shared memory, which arrive when their thread waits for them.

use std::panic::Location;

use super::current::current;
use super::failure::fail;
use crate::fault::FaultKind;
use crate::{AccessKind, POISON, SharedRegion};

/// A copy that has been started and has not arrived.
pub(super) struct AsyncCopy {
    from: *const u8,
    /// The number of bytes to copy. The rest of the destination becomes zero.
    bytes: usize,
    to: SharedRegion,
    offset: usize,
    /// The size of the destination in bytes.
    size: usize,
    /// The position of the call that started the copy.
    place: &'static Location<'static>,
}

/// The groups of copies of one thread that have not arrived. The last group is still open.
pub(super) type InFlight = Vec<Vec<AsyncCopy>>;

/// Calls `act` with the copies of the running thread.
fn with_copies<R>(act: impl FnOnce(&mut InFlight) -> R) -> R {
    let block = current();
    let mut threads = block.copies.borrow_mut();
    if threads.is_empty() {
        threads.resize_with(block.threads as usize, || vec![Vec::new()]);
    }
    act(&mut threads[block.rank.get() as usize])
}

/// Starts a copy of `bytes` bytes from `from` to a shared region, to the `size` bytes at `offset`.
/// The rest of the destination becomes zero. The copy arrives in [`wait_for_copies`]. Until then
/// the destination is poisoned, and the check `shared` treats it as unwritten.
///
/// Ends the launch with a fault if the region belongs to another block, or if the copy races with
/// an access by another thread.
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
    let copy = AsyncCopy { from, bytes, to, offset, size, place };
    with_copies(|groups| {
        if let Some(open) = groups.last_mut() {
            open.push(copy);
        }
    });
}

/// Combines the copies that the running thread has started since the last call into a group. A
/// group may be empty.
pub fn commit_copies() {
    with_copies(|groups| groups.push(Vec::new()));
}

/// Waits until at most `kept` of the latest groups of the running thread are in flight: the copies
/// of all earlier groups arrive.
///
/// Ends the launch with a fault if a copy races with an access by another thread.
pub fn wait_for_copies(kept: usize) {
    let block = current();
    let done = with_copies(|groups| {
        let committed = groups.len() - 1;
        groups.drain(..committed.saturating_sub(kept)).flatten().collect::<Vec<_>>()
    });
    for AsyncCopy { from, bytes, to, offset, size, place } in done {
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
