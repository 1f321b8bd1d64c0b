//! The OS threads that run launches.
//!
//! Launches have rayon pools of their own, because a thread that waits in a rayon pool does other
//! work of its pool meanwhile. In the caller's pool, that work could launch the same kernel value a
//! second time on the same thread, although kernel values with exclusive handles are not `Sync`, or
//! wait for a lock that the caller holds. A thread of these pools may run a part of another launch
//! while it waits, so a kernel's function for the CPU must not hold a lock across a call of rayon.
//!
//! A launch uses as many threads as the pool of its caller has, and outside a pool as many as
//! rayon's global pool has by default: `RAYON_NUM_THREADS`, or all cores. All callers with pools of
//! one size share one pool here. The pools last until the process ends.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::block;

/// The pools by their number of threads. They last until the process ends.
static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Whether the OS thread belongs to a pool of this module, or runs a nested launch for one.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the OS thread runs a part of a launch. Then a nested launch must not wait for
/// other threads of the pool, which may all wait, too.
#[must_use]
pub fn is_in_launch() -> bool {
    IS_OURS.get() || block::is_running()
}

/// Sets whether the OS thread, which is neither in a pool nor runs a block, runs a part of a launch.
pub(crate) fn set_in_launch(is_in_launch: bool) {
    IS_OURS.set(is_in_launch);
}

/// Runs `work` on a pool for launches, in which rayon's functions use all threads of the pool. The
/// calling thread does no other work meanwhile. Call this only if [`is_in_launch`] returns false.
///
/// # Errors
/// Returns an error if the system refuses a thread. Then `work` does not run.
pub fn in_pool<R: Send>(work: impl FnOnce() -> R + Send) -> io::Result<R> {
    if rayon_core::current_thread_index().is_none() {
        // Asking rayon for the size of its global pool would start that pool, or panic.
        return Ok(of_size(0)?.install(work));
    }
    let pool = of_size(rayon_core::current_num_threads())?;
    // `install` would do other work of the caller's pool while it waits.
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("cuda_cpu wait".into());
        let waiting = builder.spawn_scoped(scope, || pool.install(work)).map_err(refused)?;
        Ok(waiting.join().unwrap_or_else(|payload| resume_unwind(payload)))
    })
}

/// Returns the pool with this number of threads, and starts it if necessary. 0 is rayon's default.
fn of_size(threads: usize) -> io::Result<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.thread_name(|i| format!("cuda_cpu {i}"));
    let builder = builder.start_handler(|_| IS_OURS.set(true));
    let pool = Arc::new(builder.build().map_err(refused)?);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

fn refused(error: impl std::error::Error) -> io::Error {
    let remedy = "raise the limits on its threads and memory";
    io::Error::other(format!("the process cannot start a thread ({error}); {remedy}"))
}
