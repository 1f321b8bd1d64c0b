//! The race detector of global memory.
//!
//! It has a [`Shadow`] for each page of memory that a launch accesses through the types of
//! `cuda_std`, and a [`Clock`] for each address at which a block has published its accesses. It
//! exists only for launches with [`Checks::global`](crate::Checks::global), and for one launch:
//! the end of a launch orders all its accesses before the next launch.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::fault::AccessKind;
use crate::shadow::{Access, Conflict, Now, Shadow};

/// The number of bytes per shadow.
const PAGE: usize = 4096;

/// The accesses of one launch to global memory.
#[derive(Default)]
pub(crate) struct GlobalMemory {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pages: HashMap<usize, Shadow>,
    /// The accesses that happened before the last atomic at an address.
    published: HashMap<usize, Clock>,
}

impl GlobalMemory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an access to `size` bytes at `address`. Returns the earlier access that it races with,
    /// if any, and its kind.
    pub(crate) fn note(
        &self,
        address: usize,
        size: usize,
        kind: AccessKind,
        now: &Now<'_>,
    ) -> Option<(AccessKind, Access)> {
        let mut state = self.state();
        let (mut at, end) = (address, address.saturating_add(size));
        while at < end {
            let (page, offset) = (at / PAGE, at % PAGE);
            let part = (end - at).min(PAGE - offset);
            let shadow = state.pages.entry(page).or_insert_with(|| Shadow::new(PAGE, false));
            if let Some(Conflict::Race { other_access, other, .. }) =
                shadow.note(offset, part, kind, now)
            {
                return Some((other_access, other));
            }
            at += part;
        }
        None
    }

    /// Merges the accesses that were published at `address` into `clock`.
    pub(crate) fn acquire(&self, address: usize, clock: &mut Clock) {
        if let Some(published) = self.state().published.get(&address) {
            clock.merge(published);
        }
    }

    /// Publishes `clock` and the accesses of `block` up to `epoch` at `address`.
    pub(crate) fn publish(&self, address: usize, clock: &Clock, block: u64, epoch: u32) {
        let mut state = self.state();
        let published = state.published.entry(address).or_default();
        published.merge(clock);
        published.add(block, epoch);
    }
}
