//! Threads that wait in a loop for a value that another thread writes.
//!
//! A GPU since Volta runs such a loop and the other threads by turns. The simulator runs a thread
//! until it waits, so it counts the atomics of a thread, and lets the other threads of the block
//! run after a number of them. If all threads of all running blocks wait or spin, another block
//! starts on another OS thread. The operating system then runs the blocks by turns.
//!
//! Loops that read memory without the atomics of `cuda_std` are not recognised. They end with
//! [`FaultKind::Endless`].

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

use super::Block;
use super::current::running;
use super::waiting::{Reason, Wait, Waiting, same_place};
use crate::fault::{FaultKind, ThreadId};
use crate::grid::Grid;
use crate::watchdog::cpu_time;

/// The number of atomics without a wait after which a thread lets others run.
const SPINS: u32 = 256;

/// The weight of an atomic load: a loop with a load spins more likely than one with an addition.
const SPIN_LOAD: u32 = 16;

/// The time without progress after which a block counts as stuck, and between attempts to start
/// another block.
const PATIENCE: Duration = Duration::from_millis(2);

/// Counts an atomic of the running thread. Lets the other threads run if there were many of them.
/// Does nothing outside a launch.
#[inline]
#[track_caller]
pub fn spin(is_load: bool) {
    let Some(block) = running() else { return };
    block.last.set(Some(Location::caller()));
    let spins = block.spins.get() + if is_load { SPIN_LOAD } else { 1 };
    block.spins.set(spins);
    if spins >= SPINS {
        pause();
    }
}

/// Lets the other threads of the block run, as `nanosleep` does. Does nothing outside a launch and
/// in a block that has failed.
#[inline]
#[track_caller]
pub fn pause() {
    let Some(block) = running() else { return };
    block.spins.set(0);
    if !thread::panicking() {
        block.wait(Wait { place: Location::caller(), reason: Reason::Spin, mask: 0 });
    }
}

/// The time that a block has spent with threads that only spin.
#[derive(Default)]
pub(super) struct Spinning<'a> {
    /// The CPU time of the OS thread at the first look.
    since: Option<Duration>,
    /// The time of the last look.
    asked: Option<Instant>,
    stuck: Option<Stuck<'a>>,
}

/// A block that waits for another block, until the value is dropped.
struct Stuck<'a>(&'a Grid<'a>);

impl<'a> Stuck<'a> {
    fn new(grid: &'a Grid<'a>) -> Self {
        grid.set_stuck(true);
        Self(grid)
    }
}

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.set_stuck(false);
    }
}

impl<'a> Block<'a> {
    /// Lets each spinning thread continue once. All other threads wait for something else.
    pub(super) fn let_spin(&self, waiting: &mut Waiting, spinning: &mut Spinning<'a>) {
        let before = waiting.count;
        for i in 0..self.threads {
            let thread = self.order.at(i.into()) as usize;
            let slot = waiting.slots[thread].as_ref();
            if slot.is_some_and(|slot| slot.wait.reason == Reason::Spin) {
                self.go_on(thread as u32, waiting);
            }
        }
        if waiting.count != before || waiting.spinning == 0 {
            *spinning = Spinning::default();
            return;
        }
        let now = Instant::now();
        if now - *spinning.asked.get_or_insert(now) <= PATIENCE {
            // The block that these threads wait for may need this core.
            thread::yield_now();
            return;
        }
        spinning.asked = Some(now);
        // On a busy machine, this OS thread may wait for a core. That time does not count.
        let used = cpu_time();
        let since = *spinning.since.get_or_insert(used);
        if let Some(limit) = self.launch.checks.limit.filter(|limit| used - since > *limit) {
            return self.report_spinning(waiting, limit);
        }
        if self.grid.have_failed() {
            // The block may wait for the one that has failed, whose fault ends the launch.
            self.is_cancelled.set(true);
            self.has_failed.set(true);
        }
        spinning.stuck.get_or_insert_with(|| Stuck::new(self.grid));
        (self.start_another)();
        thread::yield_now();
    }

    /// Reports the first spinning thread, and another thread that waits: elsewhere, if there is one.
    fn report_spinning(&self, waiting: &Waiting, limit: Duration) {
        let Some((thread, wait)) = waiting.iter().find(|(_, wait)| wait.reason == Reason::Spin)
        else {
            return;
        };
        let others = || waiting.iter().filter(|(other, _)| *other != thread);
        let elsewhere = others().find(|(_, other)| !same_place(other.place, wait.place));
        let other = elsewhere.or_else(|| others().next()).map(|(other, wait)| {
            let thread = self.launch.thread_index(other);
            (ThreadId { block: self.index, thread }, wait.place)
        });
        self.select(thread);
        let last = Some(wait.place);
        self.record(FaultKind::Endless { limit, place: None, last, other });
    }
}
