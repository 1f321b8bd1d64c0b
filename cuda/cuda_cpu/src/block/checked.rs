//! The checks of memory accesses that a launch can turn on: races, and reads of unwritten shared
//! memory.

use std::panic::Location;

use super::Block;
use super::calls::uninterrupted;
use super::failure::fail;
use crate::fault::{AccessKind, FaultKind, ThreadId};
use crate::shadow::Now;
use crate::{SharedRegion, WARP_SIZE};

impl Block<'_> {
    /// Checks an access to shared memory.
    #[inline]
    pub(super) fn check_shared(
        &self,
        region: &SharedRegion,
        offset: usize,
        size: usize,
        kind: AccessKind,
        place: &'static Location<'static>,
    ) {
        if self.has_failed.get() {
            // After a fault, barriers no longer separate the accesses of different threads.
            return;
        }
        let warp_syncs = self.warp_syncs.borrow();
        let now = self.now(&warp_syncs, place);
        let fault = self.shared.borrow_mut().note(region.id, offset, size, kind, &now);
        if let Some(fault) = fault {
            drop(warp_syncs);
            fail(fault);
        }
    }

    /// Returns the running thread and the current time.
    #[inline]
    fn now<'s>(&self, warp_syncs: &'s [Vec<u32>], place: &'static Location<'static>) -> Now<'s> {
        let thread = self.rank.get();
        let syncs = match warp_syncs.get((thread / WARP_SIZE) as usize) {
            Some(syncs) => &syncs[..],
            None => &[],
        };
        let block_epoch = self.block_epoch.get();
        Now { place, block: self.linear, thread, block_epoch, syncs, clock: None }
    }

    /// Checks an access to global memory.
    #[cold]
    pub(super) fn check_global(
        &self,
        address: usize,
        size: usize,
        access: AccessKind,
        place: &'static Location<'static>,
    ) {
        let global = self.grid.global.as_ref().filter(|_| !self.has_failed.get());
        let Some(global) = global else { return };
        self.last.set(Some(place));
        let race = {
            let (warp_syncs, clock) = (self.warp_syncs.borrow(), self.clock.borrow());
            let now = Now { clock: Some(&clock), ..self.now(&warp_syncs, place) };
            uninterrupted(|| global.note(address, size, access, &now))
        };
        if let Some((other_access, other)) = race {
            let at = ThreadId {
                block: self.launch.block_index(other.block),
                thread: self.launch.thread_index(other.thread),
            };
            let other_place = other.place;
            fail(FaultKind::GlobalRace { access, place, other_access, other: at, other_place });
        }
    }

    /// Orders the threads of the block by an atomic at `address`: the accesses of a thread that
    /// published them there, and then of the running thread.
    ///
    /// A lock orders threads in this way. The order counts as a barrier for the whole block, so a
    /// race can go unnoticed, but every race that is reported is real.
    #[inline]
    pub(super) fn order_threads(&self, address: usize, releases: bool) {
        let publishes = releases || self.has_fenced.get();
        if publishes || !self.released.borrow().is_empty() {
            self.order_threads_slowly(address, publishes);
        }
    }

    #[cold]
    fn order_threads_slowly(&self, address: usize, publishes: bool) {
        let rank = self.rank.get();
        let mut released = self.released.borrow_mut();
        if released.get(&address).is_some_and(|other| *other != rank) {
            self.block_epoch.set(self.block_epoch.get() + 1);
            self.warp_syncs.borrow_mut().clear();
        }
        if publishes {
            released.insert(address, rank);
        }
    }

    /// Orders the block after the atomics at `address`, and those that follow after the block.
    #[cold]
    pub(super) fn synchronise(&self, address: usize, releases: bool) {
        let Some(global) = &self.grid.global else { return };
        let mut clock = self.clock.borrow_mut();
        uninterrupted(|| {
            global.acquire(address, &mut clock);
            if releases || self.has_fenced.get() {
                global.publish(address, &clock, self.linear, self.block_epoch.get());
            }
        });
    }

    /// Fails the block if a thread has read shared memory that no thread had written.
    pub(super) fn report_unwritten(&self) {
        if self.has_failed.get() || !self.launch.checks.shared {
            return;
        }
        let unwritten = self.shared.borrow_mut().take_unwritten();
        if let Some((thread, fault)) = unwritten {
            self.select(thread);
            self.record(fault);
        }
    }
}
