//! Requests to stop a video job. All parts of the job share them: the readers, the session and the ffmpeg processes.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;

/// A flag that requests the stop of a video job. All clones share the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    killed: AtomicBool,
    children: Mutex<Vec<Weak<Mutex<Child>>>>,
}

impl Stop {
    /// Requests an orderly stop: the job stitches the frames that it has already read, and completes the output.
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

    /// Requests a stop and kills the ffmpeg processes. Threads that wait for such a process return an error.
    pub fn kill(&self) {
        self.ask();
        self.0.killed.store(true, Ordering::Relaxed);
        for child in lock(&self.0.children).drain(..).filter_map(|child| child.upgrade()) {
            kill(&mut lock(&child));
        }
    }

    /// Registers a child process, so that [`kill`](Self::kill) kills it.
    pub(super) fn watch(&self, child: &Arc<Mutex<Child>>) {
        let mut children = lock(&self.0.children);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
        // `kill` sets its flag before it locks the list of children. If `kill` ran before this child was added to the
        // list, this check finds the flag set and kills the child.
        if self.is_killed() {
            kill(&mut lock(child));
        }
    }
}

/// Kills a child that leads a process group, and the processes of the group, such as the programs that a wrapper script
/// starts. Ignores errors, which mean that they have already ended.
pub(super) fn kill(child: &mut Child) {
    if matches!(child.try_wait(), Ok(None)) {
        // The child has not been reaped, so no other process has its number.
        if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = child.kill();
    }
}
