//! Records a block's accesses and waits for a [profile](crate::profile), in a launch that has one.

use std::panic::Location;

use super::Block;
use super::waiting::{Reason, Wait};
use crate::fault::AccessKind;
use crate::profile::Operation;

impl Block<'_> {
    /// Records an access of the running thread: to global memory at `address`, or to `shared`, the
    /// index of a shared array and an offset in it.
    #[cold]
    pub(super) fn profile(
        &self,
        shared: Option<[usize; 2]>,
        address: usize,
        layout: [usize; 2],
        kind: AccessKind,
        place: &'static Location<'static>,
    ) {
        let Some(trace) = &self.trace else { return };
        // Different shared arrays do not overlap.
        let address = shared.map_or(address, |[array, offset]| array << 32 | offset) as u64;
        let operation = Operation::new(shared.is_some(), kind);
        trace.borrow_mut().access(self.rank.get(), place, operation, address, layout);
    }

    /// Records an access by a generic address.
    #[cold]
    pub(super) fn profile_generic(
        &self,
        address: usize,
        layout: [usize; 2],
        kind: AccessKind,
        place: &'static Location<'static>,
    ) {
        if self.trace.is_some() {
            let shared = self.shared.borrow().find(address);
            self.profile(shared, address, layout, kind, place);
        }
    }

    /// Records that a thread waits.
    #[inline]
    pub(super) fn profile_wait(&self, thread: u32, wait: Wait) {
        let Some(trace) = &self.trace else { return };
        let (operation, mask) = match wait.reason {
            Reason::Barrier => (Operation::Barrier, u32::MAX),
            Reason::Exchange | Reason::SyncWarp => (Operation::WarpOperation, wait.mask),
            Reason::Spin => return,
        };
        trace.borrow_mut().wait(thread, wait.place, operation, mask);
    }

    /// Records that all threads of the block, or the lanes in the mask of a warp, stop waiting.
    #[inline]
    pub(super) fn profile_resume(&self, lanes: Option<(u32, u32)>) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().resume(lanes);
        }
    }
}
