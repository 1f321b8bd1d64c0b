//! Distributes the blocks of a launch over OS threads.
//!
//! The threads of a pool for launches ([`pool`]) take one block after the other. After a fault, no
//! further block starts. If all threads of all running blocks wait for other blocks, an additional
//! OS thread takes blocks, so that a kernel whose blocks wait for each other makes progress as on a
//! GPU that runs them at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use crate::block;
use crate::fault::Fault;
use crate::global::GlobalMemory;
use crate::order::Order;
use crate::pool;
use crate::profile::Collector;
use crate::{Body, Launch};

/// The maximum number of OS threads that a launch starts in addition to the pool: about as many
/// blocks as a large GPU runs at once.
const MAX_ADDED: u64 = 2048;

/// The fault of a launch, and whether a thread of the launch was stopped at an arbitrary
/// instruction. The fault does not tell this: another thread can be stopped after it.
pub(crate) struct Failure {
    pub(crate) fault: Box<Fault>,
    pub(crate) was_stopped: bool,
}

/// The blocks of a launch, and the fault of the first block that failed, with its position.
pub(crate) struct Grid<'a> {
    pub(crate) launch: &'a Launch<'a>,
    /// The number of the launch, unique in the process and not 0.
    pub(crate) id: u64,
    /// The accesses to global memory, if they are checked.
    pub(crate) global: Option<GlobalMemory>,
    pub(crate) profile: Option<&'a Collector>,
    /// Whether a thread was stopped at an arbitrary instruction.
    pub(crate) was_stopped: AtomicBool,
    body: &'a Body<'a>,
    /// The order in which the blocks start.
    order: Order,
    count: u64,
    /// The position of the next block to start.
    next: AtomicU64,
    running: AtomicU64,
    /// The number of running blocks whose threads all wait for other blocks.
    stuck: AtomicU64,
    /// The number of OS threads that were added to the pool.
    added: AtomicU64,
    has_failed: AtomicBool,
    fault: Mutex<Option<(u64, Fault)>>,
}

/// Runs the blocks of a launch. Adds the counts of each block to `profile`, if there is one.
pub(crate) fn run(
    launch: &Launch<'_>,
    profile: Option<&Collector>,
    body: &Body<'_>,
) -> Result<(), Failure> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    // The product is below 2⁶³, because the launch's shape was checked.
    let count: u64 = launch.grid.iter().map(|blocks| u64::from(*blocks)).product();
    let grid = Grid {
        launch,
        id: NEXT_ID.fetch_add(1, Relaxed),
        global: launch.checks.global.then(GlobalMemory::default),
        profile,
        was_stopped: AtomicBool::new(false),
        body,
        order: Order::new(launch.checks.order, 0, count),
        count,
        next: AtomicU64::new(0),
        running: AtomicU64::new(0),
        stuck: AtomicU64::new(0),
        added: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
        fault: Mutex::new(None),
    };
    if count == 1 {
        // Waking the pool would cost more than running the block here.
        grid.work(&|| ());
    } else {
        thread::scope(|scope| Worker { grid: &grid, scope }.run());
    }
    let was_stopped = grid.was_stopped.into_inner();
    match grid.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, fault)) => Err(Failure { fault: fault.into(), was_stopped }),
        None => Ok(()),
    }
}

impl Grid<'_> {
    /// Runs blocks until none is left or one has failed. `start_another` starts an OS thread that
    /// does the same.
    fn work(&self, start_another: &dyn Fn()) {
        while !self.have_failed() {
            let block = self.next.fetch_add(1, Relaxed);
            if block >= self.count {
                return;
            }
            self.running.fetch_add(1, Relaxed);
            let result = block::run(self, self.order.at(block), start_another, self.body);
            self.running.fetch_sub(1, Relaxed);
            if let Err(fault) = result {
                self.has_failed.store(true, Relaxed);
                let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                // Blocks start in order, so the first block with a fault always ends here.
                if first.as_ref().is_none_or(|(earlier, _)| block < *earlier) {
                    *first = Some((block, fault));
                }
            }
        }
    }

    /// Notes that all threads of a block wait for something that only another block can do, or that
    /// one of them continues.
    pub(crate) fn set_stuck(&self, is_stuck: bool) {
        if is_stuck {
            self.stuck.fetch_add(1, Relaxed);
        } else {
            self.stuck.fetch_sub(1, Relaxed);
        }
    }

    /// Returns whether a block has failed, so that a block that waits for it cannot continue.
    pub(crate) fn have_failed(&self) -> bool {
        self.has_failed.load(Relaxed)
    }

    /// Returns whether another block must start: one is left, all running blocks are stuck, and the
    /// launch may add an OS thread.
    fn needs_another(&self) -> bool {
        // A block that runs may be the one for which the others wait, even if the system gives it
        // no time at the moment.
        self.stuck.load(Relaxed) >= self.running.load(Relaxed)
            && self.next.load(Relaxed) < self.count
            && self.added.fetch_add(1, Relaxed) < MAX_ADDED
    }
}

/// The work of one OS thread.
#[derive(Clone, Copy)]
struct Worker<'scope, 'env> {
    grid: &'scope Grid<'scope>,
    scope: &'scope Scope<'scope, 'env>,
}

impl Worker<'_, '_> {
    /// Runs all blocks, on several OS threads unless they must run one after the other.
    fn run(self) {
        let every_thread = || {
            let workers = self.grid.count.min(rayon_core::current_num_threads() as u64);
            rayon_core::scope(|pool| {
                for _ in 1..workers {
                    pool.spawn(move |_| self.work());
                }
                self.work();
            });
        };
        let is_sequential = self.grid.launch.checks.is_sequential() || pool::is_in_launch();
        if is_sequential || pool::in_pool(every_thread).is_err() {
            self.work();
        }
    }

    fn work(self) {
        self.grid.work(&|| {
            if self.grid.needs_another() {
                // If the system starts no thread, the blocks that run must finish first.
                let _ = thread::Builder::new().spawn_scoped(self.scope, move || self.work());
            }
        });
    }
}
