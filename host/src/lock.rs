//! Locks for state that stays valid after a panic, so that a panic on one thread does not spread to others.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
