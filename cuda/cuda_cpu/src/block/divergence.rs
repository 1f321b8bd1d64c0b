//! The report of divergence: the waiting threads of a block can never continue.
//!
//! Either some lanes of a warp operation wait elsewhere or have returned, or some threads of the
//! block wait at another barrier or have returned.

use super::Block;
use super::waiting::{Waiting, same_place};
use crate::WARP_SIZE;
use crate::fault::{Elsewhere, FaultKind};

impl Block<'_> {
    /// Records a fault that names the operation at which threads wait forever. A warp operation is
    /// reported before a barrier.
    pub(super) fn diverged(&self, waiting: &Waiting) {
        for (thread, wait) in waiting.iter() {
            let (Some(op), mask) = (wait.warp_op(), wait.mask) else { continue };
            let missing = mask & !waiting.meeting(thread / WARP_SIZE, wait);
            let others = Some(waiting.elsewhere(thread / WARP_SIZE, missing));
            self.select(thread);
            let (op, place) = (op.name(), wait.place);
            return self.record(FaultKind::WarpDivergence { op, place, mask, missing, others });
        }
        let Some((thread, first)) = waiting.iter().next() else { return };
        let barrier = first.place;
        let elsewhere = waiting.iter().find(|(_, wait)| !same_place(wait.place, barrier));
        let others = elsewhere.map_or(Elsewhere::Returned(self.threads - waiting.count), |other| {
            Elsewhere::Waiting(other.1.place)
        });
        let together = waiting.iter().filter(|(_, wait)| same_place(wait.place, barrier)).count();
        let first = elsewhere.map(|(other, _)| other).or_else(|| waiting.first_returned());
        let first = self.launch.thread_index(first.unwrap_or(thread));
        self.select(thread);
        self.record(FaultKind::BarrierDivergence {
            waiting: together as u32,
            threads: self.threads,
            barrier,
            others,
            first,
        });
    }
}
