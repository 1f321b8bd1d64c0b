//! Locks whose state is whole whoever panicked with them: a panic elsewhere is no reason for another.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
