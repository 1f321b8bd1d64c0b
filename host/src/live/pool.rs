//! A fixed number of things that are taken and come back by themselves: how live video gets by without
//! allocating, and with bounded memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The things that are not taken. Clones are the same pool.
pub(super) struct Pool<T>(Arc<Home<T>>);

struct Home<T> {
    free: Mutex<Free<T>>,
    changed: Condvar,
}

struct Free<T> {
    items: Vec<T>,
    closed: bool,
}

/// Something taken from a pool; dropping it gives it back.
pub(super) struct Pooled<T> {
    /// `None` only while dropping.
    item: Option<T>,
    home: Arc<Home<T>>,
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Home<T> {
    fn free(&self) -> MutexGuard<'_, Free<T>> {
        // Nothing panics while it holds the lock.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Pool<T> {
    pub(super) fn new(items: Vec<T>) -> Self {
        let free = Mutex::new(Free { items, closed: false });
        Self(Arc::new(Home { free, changed: Condvar::new() }))
    }

    /// Takes something if there is anything; nothing from a closed pool.
    pub(super) fn try_take(&self) -> Option<Pooled<T>> {
        let mut free = self.0.free();
        let item = if free.closed { None } else { free.items.pop() };
        item.map(|item| Pooled { item: Some(item), home: Arc::clone(&self.0) })
    }

    /// Waits until something may have come back, or the pool was closed, or [`nudge`](Self::nudge)d;
    /// at most so long.
    pub(super) fn wait(&self, most: Duration) {
        let free = self.0.free();
        if free.items.is_empty() && !free.closed {
            drop(self.0.changed.wait_timeout(free, most));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.free().closed
    }

    /// Nothing is given out any more, and nobody waits.
    pub(super) fn close(&self) {
        self.0.free().closed = true;
        self.0.changed.notify_all();
    }

    /// Wakes who waits.
    pub(super) fn nudge(&self) {
        self.0.changed.notify_all();
    }
}

impl<T> Pooled<T> {
    /// Never gives it back, nor frees it: the GPU may still be using it.
    pub(super) fn abandon(mut self) {
        std::mem::forget(self.item.take());
    }
}

impl<T> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.item {
            Some(item) => item,
            None => unreachable!("taken out only by `drop` and `abandon`"),
        }
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.item {
            Some(item) => item,
            None => unreachable!("taken out only by `drop` and `abandon`"),
        }
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.home.free().items.push(item);
            self.home.changed.notify_all();
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
    use super::*;

    #[test]
    fn what_is_dropped_can_be_taken_again() {
        let pool = Pool::new(vec![1, 2]);
        let (a, b) = (pool.try_take().unwrap(), pool.try_take().unwrap());
        assert!(pool.try_take().is_none());
        drop(a);
        assert_eq!(*b + *pool.try_take().unwrap(), 3);
        b.abandon();
        assert!(pool.try_take().is_some() && pool.0.free().items.len() == 1);
    }

    #[test]
    fn a_closed_pool_gives_nothing_and_lets_nobody_wait() {
        let pool = Pool::new(vec![1]);
        let taken = pool.try_take();
        let waiting = pool.clone();
        let thread = std::thread::spawn(move || waiting.wait(Duration::from_secs(60)));
        pool.close();
        thread.join().unwrap();
        drop(taken);
        assert!(pool.try_take().is_none() && pool.is_closed());
    }
}
