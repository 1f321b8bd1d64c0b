//! The checks of memory accesses that a launch can turn on: races, and reads of unwritten shared
//! memory.

use std::panic::Location;

use super::Block;
use super::failure::fail;
use crate::fault::{AccessKind, FaultKind, ThreadId};
use crate::global::Race;
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
        let Some(global) = self.global.filter(|_| !self.has_failed.get()) else { return };
        let race = {
            let (warp_syncs, clock) = (self.warp_syncs.borrow(), self.clock.borrow());
            let now = Now { clock: Some(&clock), ..self.now(&warp_syncs, place) };
            global.note(address, size, access, &now)
        };
        if let Some(Race { other_access, other }) = race {
            let at = ThreadId {
                block: self.launch.block_index(other.block),
                thread: self.launch.thread_index(other.thread),
            };
            let other_place = other.place;
            fail(FaultKind::GlobalRace { access, place, other_access, other: at, other_place });
        }
    }

    /// Orders the block after the atomics at `address`, and those that follow after the block.
    #[cold]
    pub(super) fn synchronise(&self, address: usize, releases: bool) {
        let Some(global) = self.global else { return };
        let mut clock = self.clock.borrow_mut();
        global.acquire(address, &mut clock);
        if releases || self.has_fenced.get() {
            global.publish(address, &clock, self.linear, self.block_epoch.get());
        }
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
