//! Asynchronous copies from global to shared memory, which arrive when their thread waits for them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::Location;

use crate::SharedRegion;

/// A copy that has been started and has not arrived.
#[derive(Clone, Copy)]
pub(crate) struct AsyncCopy {
    pub(crate) from: *const u8,
    /// The number of bytes to copy. The rest of the destination becomes zero.
    pub(crate) bytes: usize,
    pub(crate) to: SharedRegion,
    pub(crate) offset: usize,
    /// The size of the destination in bytes.
    pub(crate) size: usize,
    /// The position of the call that started the copy.
    pub(crate) place: &'static Location<'static>,
}

/// The copies of one thread that have not arrived, in the order of their start.
#[derive(Clone, Default)]
struct InFlight {
    copies: VecDeque<AsyncCopy>,
    /// The number of copies in each group.
    groups: VecDeque<usize>,
    /// The number of copies that belong to no group yet.
    open: usize,
}

/// The copies of the threads of a block.
#[derive(Default)]
pub(crate) struct AsyncCopies {
    threads: RefCell<Vec<InFlight>>,
}

impl AsyncCopies {
    fn with_thread<R>(&self, thread: u32, act: impl FnOnce(&mut InFlight) -> R) -> R {
        let mut threads = self.threads.borrow_mut();
        let needed = thread as usize + 1;
        if threads.len() < needed {
            threads.resize(needed, InFlight::default());
        }
        act(&mut threads[thread as usize])
    }

    /// Adds a copy that belongs to no group yet.
    pub(crate) fn start(&self, thread: u32, copy: AsyncCopy) {
        self.with_thread(thread, |flight| {
            flight.copies.push_back(copy);
            flight.open += 1;
        });
    }

    /// Combines the copies that belong to no group into one.
    pub(crate) fn commit(&self, thread: u32) {
        self.with_thread(thread, |flight| {
            flight.groups.push_back(std::mem::take(&mut flight.open));
        });
    }

    /// Removes and returns the copies of all groups of a thread except the latest `kept` groups.
    pub(crate) fn arrive(&self, thread: u32, kept: usize) -> Vec<AsyncCopy> {
        self.with_thread(thread, |flight| {
            let done = flight.groups.len().saturating_sub(kept);
            let count: usize = flight.groups.drain(..done).sum();
            flight.copies.drain(..count).collect()
        })
    }
}
