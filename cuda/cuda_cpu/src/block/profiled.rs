//! The calls that record a block's accesses and waits for a [profile](crate::profile). They do
//! nothing in a launch without one.

use std::panic::Location;

use super::Block;
use super::waiting::{Reason, Wait};
use crate::SharedRegion;
use crate::fault::AccessKind;
use crate::profile::Operation;

impl Block<'_> {
    /// Records an access to shared memory.
    #[cold]
    pub(super) fn profile_shared(
        &self,
        region: &SharedRegion,
        offset: usize,
        layout: [usize; 2],
        kind: AccessKind,
        place: &'static Location<'static>,
    ) {
        let Some(trace) = &self.trace else { return };
        let operation = Operation::new(true, kind);
        let address = SharedRegion::profiled_address(region.id, offset);
        trace.borrow_mut().access(self.rank.get(), place, operation, address, layout);
    }

    /// Records an access to global memory, or to shared memory by a generic address.
    #[cold]
    pub(super) fn profile_global(
        &self,
        address: usize,
        layout: [usize; 2],
        kind: AccessKind,
        place: &'static Location<'static>,
    ) {
        let Some(trace) = &self.trace else { return };
        let shared = self.shared.borrow().find(address);
        let operation = Operation::new(shared.is_some(), kind);
        let address = shared.map_or(address as u64, |[region, offset]| {
            SharedRegion::profiled_address(region, offset)
        });
        trace.borrow_mut().access(self.rank.get(), place, operation, address, layout);
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

    /// Records that the running thread has returned.
    #[cold]
    pub(super) fn profile_end(&self) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().finish(self.rank.get());
        }
    }

    /// Records that all threads pass a barrier.
    #[inline]
    pub(super) fn profile_barrier(&self) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().resume_all();
        }
    }

    /// Records that the lanes in `mask` of a warp complete a warp operation.
    #[inline]
    pub(super) fn profile_warp(&self, warp: u32, mask: u32) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().resume(warp, mask);
        }
    }
}
