//! Distributes the blocks of a launch over OS threads.
//!
//! The threads of a pool for launches ([`pool`]) take one block after the other. After a fault, no
//! further block starts. If all threads of all running blocks wait for other blocks, an additional
//! OS thread takes blocks, so that a kernel whose blocks wait for each other makes progress as on a
//! GPU that runs them at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use crate::block::{self, Siblings};
use crate::fault::Fault;
use crate::global::GlobalMemory;
use crate::order::Order;
use crate::pool;
use crate::profile::Collector;
use crate::{Body, Launch};

/// The maximum number of OS threads that a launch starts in addition to the pool: about as many
/// blocks as a large GPU runs at once.
const MAX_ADDED: u64 = 2048;

/// Runs the blocks of a launch.
///
/// Adds the counts of each block to `profile`, if there is one.
pub(crate) fn run(
    launch: &Launch<'_>,
    id: u64,
    profile: Option<&Collector>,
    body: &Body<'_>,
) -> Result<(), Fault> {
    // The product is below 2⁶³, because the launch's shape was checked.
    let count: u64 = launch.grid.iter().map(|blocks| u64::from(*blocks)).product();
    let global = launch.checks.global.then(GlobalMemory::default);
    if count == 1 {
        // Waking the pool would cost more than running the block here.
        return block::run(launch, id, 0, &Alone { global, profile }, body);
    }
    let grid = Grid {
        launch,
        id,
        body,
        order: Order::new(launch.checks.order, 0, count),
        count,
        global,
        profile,
        next: AtomicU64::new(0),
        running: AtomicU64::new(0),
        stuck: AtomicU64::new(0),
        added: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
        fault: Mutex::new(None),
    };
    let is_sequential = launch.checks.is_sequential() || pool::is_in_launch();
    thread::scope(|scope| {
        let worker = Worker { grid: &grid, scope };
        let every_thread = || {
            let workers = count.min(rayon_core::current_num_threads() as u64);
            rayon_core::scope(|pool| {
                for _ in 1..workers {
                    pool.spawn(move |_| worker.work());
                }
                worker.work();
            });
        };
        if is_sequential || pool::in_pool(every_thread).is_err() {
            worker.work();
        }
    });
    let fault = grid.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    fault.map_or(Ok(()), |(_, fault)| Err(fault))
}

/// The blocks of a launch, and the fault of the first block that failed, with its position.
struct Grid<'a> {
    launch: &'a Launch<'a>,
    id: u64,
    body: &'a Body<'a>,
    /// The order in which the blocks start.
    order: Order,
    count: u64,
    global: Option<GlobalMemory>,
    profile: Option<&'a Collector>,
    /// The position of the next block to start.
    next: AtomicU64,
    /// The number of blocks that run.
    running: AtomicU64,
    /// The number of running blocks whose threads all wait for other blocks.
    stuck: AtomicU64,
    /// The number of OS threads that were added to the pool.
    added: AtomicU64,
    has_failed: AtomicBool,
    fault: Mutex<Option<(u64, Fault)>>,
}

/// The work of one OS thread: blocks, until none is left.
#[derive(Clone, Copy)]
struct Worker<'scope, 'env> {
    grid: &'scope Grid<'scope>,
    scope: &'scope Scope<'scope, 'env>,
}

impl Worker<'_, '_> {
    fn work(self) {
        let grid = self.grid;
        while !grid.has_failed.load(Relaxed) {
            let block = grid.next.fetch_add(1, Relaxed);
            if block >= grid.count {
                return;
            }
            grid.running.fetch_add(1, Relaxed);
            let result = block::run(grid.launch, grid.id, grid.order.at(block), &self, grid.body);
            grid.running.fetch_sub(1, Relaxed);
            if let Err(fault) = result {
                grid.has_failed.store(true, Relaxed);
                let mut first = grid.fault.lock().unwrap_or_else(PoisonError::into_inner);
                // Blocks start in order, so the first block with a fault always ends here.
                if first.as_ref().is_none_or(|(earlier, _)| block < *earlier) {
                    *first = Some((block, fault));
                }
            }
        }
    }
}

impl Siblings for Worker<'_, '_> {
    fn global(&self) -> Option<&GlobalMemory> {
        self.grid.global.as_ref()
    }

    fn profile(&self) -> Option<&Collector> {
        self.grid.profile
    }

    fn set_stuck(&self, is_stuck: bool) {
        if is_stuck {
            self.grid.stuck.fetch_add(1, Relaxed);
        } else {
            self.grid.stuck.fetch_sub(1, Relaxed);
        }
    }

    fn start_another(&self) {
        let (grid, worker) = (self.grid, *self);
        // A block that runs may be the one for which the others wait, even if the system gives it
        // no time at the moment.
        if grid.stuck.load(Relaxed) < grid.running.load(Relaxed) {
            return;
        }
        if grid.next.load(Relaxed) < grid.count && grid.added.fetch_add(1, Relaxed) < MAX_ADDED {
            // If the system starts no thread, the blocks that run must finish first.
            let _ = thread::Builder::new().spawn_scoped(self.scope, move || worker.work());
        }
    }

    fn have_failed(&self) -> bool {
        self.grid.has_failed.load(Relaxed)
    }
}

/// The only block of a launch.
struct Alone<'p> {
    global: Option<GlobalMemory>,
    profile: Option<&'p Collector>,
}

impl Siblings for Alone<'_> {
    fn global(&self) -> Option<&GlobalMemory> {
        self.global.as_ref()
    }

    fn profile(&self) -> Option<&Collector> {
        self.profile
    }

    fn set_stuck(&self, _is_stuck: bool) {}

    fn start_another(&self) {}

    fn have_failed(&self) -> bool {
        false
    }
}
