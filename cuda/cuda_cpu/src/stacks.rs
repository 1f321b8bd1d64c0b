//! Stacks for fibers, which outlive blocks: mapping one costs more than running a small block.
//!
//! A stack and its guard page are two mappings, and Linux lets a process have 65,530. On a machine
//! of many cores, with blocks of 1024 threads that wait, that is not enough for all cores at once.
//! So a block whose threads wait reserves as many stacks as it has threads, and is itself made to
//! wait where that would be too many. A block whose threads do not wait needs one stack, which its
//! core keeps.

use std::cell::Cell;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

use corosensei::stack::DefaultStack;

/// Enough for kernels in debug builds; untouched pages cost nothing.
const BYTES: usize = 256 << 10;

/// Stacks that all blocks together may reserve: half of what Linux allows.
const LIMIT: u32 = 16 << 10;

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), reserved: 0 });
static RELEASED: Condvar = Condvar::new();

struct Pool {
    free: Vec<DefaultStack>,
    reserved: u32,
}

thread_local! {
    /// The stack that this core keeps.
    static KEPT: Cell<Option<DefaultStack>> = const { Cell::new(None) };
    /// Reservations of blocks that this core is in the middle of.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// The stacks of one block. Dropped on the thread that made it.
pub(crate) struct Stacks {
    threads: u32,
    free: Vec<DefaultStack>,
    has_begun: bool,
    has_reserved: bool,
}

impl Stacks {
    /// For a block of so many threads. Reserves nothing yet.
    pub(crate) fn new(threads: u32) -> Self {
        Self { threads, free: Vec::new(), has_begun: false, has_reserved: false }
    }

    /// A stack for one fiber.
    pub(crate) fn take(&mut self) -> io::Result<DefaultStack> {
        let kept = if self.has_begun {
            self.reserve();
            self.free.pop()
        } else {
            self.has_begun = true;
            KEPT.take()
        };
        kept.map_or_else(|| DefaultStack::new(BYTES), Ok)
    }

    /// Takes back a stack that no fiber uses any more.
    pub(crate) fn give(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }

    /// Reserves a stack for each thread, once.
    fn reserve(&mut self) {
        if self.has_reserved || !self.free.is_empty() {
            return;
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        // A block within a block must not wait for the outer one.
        while HELD.get() == 0 && pool.reserved + self.threads > LIMIT {
            pool = RELEASED.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.reserved += self.threads;
        let rest = pool.free.len().saturating_sub(self.threads as usize);
        self.free = pool.free.split_off(rest);
        HELD.set(HELD.get() + 1);
        self.has_reserved = true;
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let kept = KEPT.take().or_else(|| self.free.pop());
        KEPT.set(kept);
        if self.has_reserved {
            HELD.set(HELD.get() - 1);
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            pool.reserved -= self.threads;
            pool.free.append(&mut self.free);
            RELEASED.notify_all();
        }
    }
}
