//! A pool of items. An item returns to the pool when it is dropped. Videos and live stitching take their buffers from
//! pools, so that they do not allocate memory for each frame. The pools of live stitching have a fixed number of items.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::lock::lock;

/// A handle to a pool. All clones of a handle share the pool's items.
pub(crate) struct Pool<T>(Arc<PoolState<T>>);

struct PoolState<T> {
    free: Mutex<Free<T>>,
    changed: Condvar,
}

struct Free<T> {
    items: Vec<T>,
    closed: bool,
    /// The number of changes so far, by which a waiting thread detects a change; see [`Pool::changes`].
    changes: u64,
}

/// An item that was taken from a pool. Dropping it returns the item to the pool.
pub(crate) struct Pooled<T> {
    /// The item; `None` only in `drop` and `abandon`.
    item: Option<T>,
    state: Arc<PoolState<T>>,
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> PoolState<T> {
    fn free(&self) -> MutexGuard<'_, Free<T>> {
        lock(&self.free)
    }

    /// Applies `change` to the free items, counts the change, and wakes the waiting threads.
    fn change(&self, change: impl FnOnce(&mut Free<T>)) {
        let mut free = self.free();
        change(&mut free);
        free.changes += 1;
        drop(free);
        self.changed.notify_all();
    }
}

impl<T> Pool<T> {
    pub(crate) fn new(items: Vec<T>) -> Self {
        let free = Mutex::new(Free { items, closed: false, changes: 0 });
        Self(Arc::new(PoolState { free, changed: Condvar::new() }))
    }

    /// Takes an item. Returns `None` if no item is free or the pool is closed.
    pub(crate) fn try_take(&self) -> Option<Pooled<T>> {
        let mut free = self.0.free();
        let item = if free.closed { None } else { free.items.pop() };
        item.map(|item| self.lend(item))
    }

    /// Adds an item that is taken.
    pub(crate) fn lend(&self, item: T) -> Pooled<T> {
        Pooled { item: Some(item), state: Arc::clone(&self.0) }
    }

    /// Returns the number of free items.
    pub(crate) fn free(&self) -> usize {
        self.0.free().items.len()
    }

    /// Returns the number of changes so far: returned items, closings and [`nudge`](Self::nudge)s. Call this before you
    /// check whether you must wait, and pass the number to [`wait`](Self::wait). Then `wait` returns at once if a
    /// change happened after the check.
    pub(crate) fn changes(&self) -> u64 {
        self.0.free().changes
    }

    /// Waits until [`changes`](Self::changes) differs from `seen`, but not longer than `most`.
    pub(crate) fn wait(&self, seen: u64, most: Duration) {
        let free = self.0.free();
        drop(self.0.changed.wait_timeout_while(free, most, |free| free.changes == seen));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.free().closed
    }

    /// Makes [`try_take`](Self::try_take) return `None` from now on, and wakes the waiting threads.
    pub(crate) fn close(&self) {
        self.0.change(|free| free.closed = true);
    }

    /// Wakes the waiting threads, so that they check again a condition that does not depend on the pool.
    pub(crate) fn nudge(&self) {
        self.0.change(|_| ());
    }
}

impl<T> Pooled<T> {
    /// Leaks the item instead of returning it to the pool. Call this if the GPU may still access the item's memory.
    pub(crate) fn abandon(mut self) {
        std::mem::forget(self.item.take());
    }
}

impl<T> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.item {
            Some(item) => item,
            None => unreachable!("only `drop` and `abandon` take the item"),
        }
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.item {
            Some(item) => item,
            None => unreachable!("only `drop` and `abandon` take the item"),
        }
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.state.change(|free| free.items.push(item));
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.item.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn dropped_items_return_and_abandoned_items_do_not() {
        let pool = Pool::new(vec![1]);
        let (a, b) = (pool.try_take().unwrap(), pool.lend(2));
        assert!(pool.try_take().is_none());
        drop(a);
        assert_eq!(*b + *pool.try_take().unwrap(), 3);
        b.abandon();
        assert!(pool.try_take().is_some() && pool.free() == 1);
    }

    #[test]
    fn a_closed_pool_has_no_items_and_ends_waits() {
        let pool = Pool::new(vec![1]);
        let (taken, seen) = (pool.try_take(), pool.changes());
        let waiting = pool.clone();
        let thread = std::thread::spawn(move || waiting.wait(seen, Duration::from_secs(60)));
        pool.close();
        thread.join().unwrap();
        drop(taken);
        assert!(pool.try_take().is_none() && pool.is_closed());
    }

    #[test]
    fn a_change_before_the_wait_is_not_missed() {
        let pool = Pool::new(vec![1]);
        let taken = pool.try_take();
        let begun = Instant::now();
        let minute = Duration::from_secs(60);
        let seen = pool.changes();
        pool.nudge();
        pool.wait(seen, minute);
        let seen = pool.changes();
        drop(taken);
        pool.wait(seen, minute);
        assert!(begun.elapsed() < minute);
        let seen = pool.changes();
        pool.wait(seen, Duration::from_millis(1));
    }
}
