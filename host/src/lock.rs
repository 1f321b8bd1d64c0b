//! Locks mutexes even if a thread panicked while it held them.
//!
//! The state behind these mutexes stays valid after a panic, so other threads can continue to use it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex and ignores whether it is poisoned.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
