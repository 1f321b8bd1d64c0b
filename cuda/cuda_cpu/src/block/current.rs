//! The block that an OS thread runs.

use std::cell::Cell;
use std::ptr;

use super::Block;

thread_local! {
    /// The current block. Null unless `run` is on the stack.
    static CURRENT: Cell<*const Block<'static>> = const { Cell::new(ptr::null()) };
    /// The id of the current block's launch, 0 outside a launch. Every access to a kernel argument
    /// compares this id, so reading it must be a single load.
    static LAUNCH: Cell<u64> = const { Cell::new(0) };
    /// Whether the current block's accesses to global memory are checked or profiled. Every access
    /// reads it.
    static WATCHES_GLOBAL: Cell<bool> = const { Cell::new(false) };
}

/// Returns the block that this OS thread runs, if any. No caller may return the reference.
#[inline]
pub(super) fn running<'a>() -> Option<&'a Block<'a>> {
    // SAFETY: the pointer is null, or a caller on this stack is `run`, which owns the block.
    unsafe { CURRENT.get().as_ref() }
}

/// Returns the block that this OS thread runs.
#[inline]
pub(super) fn current<'a>() -> &'a Block<'a> {
    let Some(block) = running() else {
        panic!("a GPU function was called outside a kernel launch; call it only in a kernel");
    };
    block
}

/// Returns whether this OS thread is running a block.
pub(crate) fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Returns a pointer to the block that this OS thread runs, or null.
pub(super) fn pointer() -> *const Block<'static> {
    CURRENT.get()
}

#[inline]
pub(super) fn watches_global() -> bool {
    WATCHES_GLOBAL.get()
}

/// Returns the id of the current launch: unique in the process and never 0. Returns 0 outside a
/// launch.
///
/// Each handle of a kernel (slice, view or texture) stores the id of its launch, and safe functions
/// compare it with this id. If a kernel uses a handle of an earlier launch, the result is a
/// [`FaultKind::StaleHandle`](crate::FaultKind::StaleHandle) instead of an access to memory that may
/// have been freed.
#[inline]
#[must_use]
pub fn launch_id() -> u64 {
    LAUNCH.get()
}

/// A guard that makes a block the current one. When dropped, it restores the previous current block.
pub(super) struct Enter {
    block: *const Block<'static>,
    launch: u64,
    watches_global: bool,
}

impl Enter {
    pub(super) fn new(block: &Block<'_>) -> Self {
        let watches_global = WATCHES_GLOBAL.get();
        let earlier = Self { block: CURRENT.get(), launch: LAUNCH.get(), watches_global };
        block.make_current();
        earlier
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.block);
        LAUNCH.set(self.launch);
        WATCHES_GLOBAL.set(self.watches_global);
    }
}

impl Block<'_> {
    pub(super) fn make_current(&self) {
        CURRENT.set(ptr::from_ref(self).cast());
        LAUNCH.set(self.grid.id);
        WATCHES_GLOBAL.set(self.grid.global.is_some() || self.trace.is_some());
    }
}
