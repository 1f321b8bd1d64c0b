//! Asking everything that runs for a video to end: readers, the engine, and ffmpeg.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;

/// A request that many places look at; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    killed: AtomicBool,
    children: Mutex<Vec<Weak<Mutex<Child>>>>,
}

impl Stop {
    /// Asks for an end in order: what was read is stitched and the output closed properly.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether an end was asked for.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Whether [`kill`](Self::kill) was called.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.killed.load(Ordering::Relaxed)
    }

    /// Asks, and kills the child processes: whatever waits for one goes on with an error.
    pub fn kill(&self) {
        self.ask();
        self.0.killed.store(true, Ordering::Relaxed);
        for child in lock(&self.0.children).drain(..).filter_map(|child| child.upgrade()) {
            // One that has ended already is as good as killed.
            let _ = lock(&child).kill();
        }
    }

    /// Adds a child to those that [`kill`](Self::kill) kills.
    pub(super) fn watch(&self, child: &Arc<Mutex<Child>>) {
        let mut children = lock(&self.0.children);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
        // Under the lock: `kill` either finds the child here, or was done before.
        if self.is_killed() {
            let _ = lock(child).kill();
        }
    }
}
