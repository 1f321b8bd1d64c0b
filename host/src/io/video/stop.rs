//! Stop requests, shared by all parts of a video job: the readers, the stitcher and ffmpeg's processes.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;

/// A shared flag that requests a stop. All clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    killed: AtomicBool,
    children: Mutex<Vec<Weak<Mutex<Child>>>>,
}

impl Stop {
    /// Requests an orderly end: frames in flight are still stitched, and the output is completed.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Returns whether [`kill`](Self::kill) was called.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.killed.load(Ordering::Relaxed)
    }

    /// Requests a stop and kills the child processes. Threads that wait for a child receive an error.
    pub fn kill(&self) {
        self.ask();
        self.0.killed.store(true, Ordering::Relaxed);
        for child in lock(&self.0.children).drain(..).filter_map(|child| child.upgrade()) {
            // An error means that the child has already ended.
            let _ = lock(&child).kill();
        }
    }

    /// Registers a child that [`kill`](Self::kill) will kill.
    pub(super) fn watch(&self, child: &Arc<Mutex<Child>>) {
        let mut children = lock(&self.0.children);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
        // This check holds the lock: either `kill` finds the child in the list, or it has set the flag before.
        if self.is_killed() {
            let _ = lock(child).kill();
        }
    }
}
