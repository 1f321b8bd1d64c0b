//! Ends a block whose threads pass barriers or warp operations forever.
//!
//! The [watchdog](crate::watchdog) sees a thread that never waits. A loop that contains a barrier,
//! and whose condition never becomes false, waits in each iteration. The block therefore compares
//! the CPU time that it has used with the limit, once per [`ROUNDS`] barriers or warp operations.

use std::cell::Cell;
use std::time::Duration;

use super::Block;
use super::waiting::Waiting;
use crate::fault::FaultKind;
use crate::watchdog::cpu_time;

/// The number of barriers and warp operations between two readings of the clock. A reading takes
/// about as long as one barrier of a warp.
const ROUNDS: u32 = 256;

/// The barriers and warp operations of a block, and the first reading of the clock.
#[derive(Default)]
pub(super) struct Pace {
    rounds: Cell<u32>,
    since: Cell<Option<Duration>>,
}

impl Block<'_> {
    /// Counts a barrier or a warp operation. Fails the block if it has used more CPU time than the
    /// limit since the first reading of the clock.
    #[inline]
    pub(super) fn note_round(&self, waiting: &Waiting) {
        let rounds = self.pace.rounds.get() + 1;
        self.pace.rounds.set(rounds % ROUNDS);
        if rounds == ROUNDS {
            self.check_pace(waiting);
        }
    }

    #[cold]
    fn check_pace(&self, waiting: &Waiting) {
        let Some(limit) = self.launch.checks.limit else { return };
        let now = cpu_time();
        let since = self.pace.since.get().unwrap_or(now);
        self.pace.since.set(Some(since));
        if now.saturating_sub(since) > limit
            && let Some((thread, wait)) = waiting.iter().next()
        {
            let last = Some(wait.place);
            self.select(thread);
            self.record(FaultKind::Endless { limit, place: None, last, other: None });
        }
    }
}
