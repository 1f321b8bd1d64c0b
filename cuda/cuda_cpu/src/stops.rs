//! The launches in which a thread was stopped at an arbitrary instruction.
//!
//! The first fault of a launch does not tell this: another thread can be stopped after it.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The numbers of the launches.
static LAUNCHES: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

fn launches() -> MutexGuard<'static, HashSet<u64>> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a thread of a launch was stopped.
pub(crate) fn note(launch: u64) {
    launches().insert(launch);
}

/// Returns whether a thread of a launch was stopped, and forgets it.
pub(crate) fn take(launch: u64) -> bool {
    launches().remove(&launch)
}
