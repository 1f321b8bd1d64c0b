//! The wakers of tasks that wait for a panorama.
//!
//! A waker runs code of the executor, which may call or drop the stitcher and its readers. The channel of panoramas
//! calls its wakers under a lock, so they are registered here instead, and run while no lock is held.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;

use crate::lock::lock;

/// The wakers of the readers that wait.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    /// The wakers by the numbers of their readers.
    waiting: Mutex<BTreeMap<u64, Waker>>,
    /// The number of the next reader.
    next: AtomicU64,
}

impl Wakers {
    /// Returns the number of a new reader.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// Returns whether a reader waits. A task that stopped waiting without a panorama, for instance after a time
    /// limit, leaves its waker until the next wake.
    pub(super) fn are_registered(&self) -> bool {
        !lock(&self.waiting).is_empty()
    }

    /// Sets the waker of a reader.
    pub(super) fn register(&self, reader: u64, waker: Waker) {
        let old = lock(&self.waiting).insert(reader, waker);
        drop(old);
    }

    /// Removes the waker of a reader that does not wait any more.
    pub(super) fn remove(&self, reader: u64) {
        let old = lock(&self.waiting).remove(&reader);
        drop(old);
    }

    /// Removes and calls all wakers. The caller must hold no lock.
    ///
    /// # Panics
    /// Panics after all wakers were called if one of them has panicked.
    pub(super) fn wake(&self) {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        wake_all(&waiting);
    }

    /// Removes all wakers and calls them on another thread, because the caller may hold locks.
    pub(super) fn wake_elsewhere(&self) {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        if waiting.is_empty() {
            return;
        }
        let waiting = Arc::new(waiting);
        let there = Arc::clone(&waiting);
        let thread = thread::Builder::new().name("panoweave-wake".into());
        if thread.spawn(move || wake_all(&there)).is_err() {
            wake_all(&waiting);
        }
    }
}

/// Calls all wakers, and then panics if one of them has panicked.
fn wake_all(wakers: &BTreeMap<u64, Waker>) {
    let wake = |waker: &Waker| catch_unwind(AssertUnwindSafe(|| waker.wake_by_ref())).err();
    let panics: Vec<_> = wakers.values().filter_map(wake).collect();
    if let Some(panic) = panics.into_iter().next() {
        resume_unwind(panic);
    }
}
