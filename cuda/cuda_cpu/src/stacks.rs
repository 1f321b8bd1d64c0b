//! Stacks for fibers, which outlive blocks: mapping one costs more than running a small block.
//!
//! A stack and its guard page are two mappings, and Linux lets a process have 65,530. On a machine
//! of many cores, with blocks of 1024 threads that wait, that is not enough for all cores at once.
//! So a block whose threads wait reserves as many stacks as it has threads, and is itself made to
//! wait where that would be too many. A block whose threads do not wait needs one stack, which its
//! core keeps.
//!
//! Memory that no thread has touched costs address space alone, so stacks are large.

use std::cell::Cell;
use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Room for deep frames of debug builds. At 2 MiB Linux may back a stack by one huge page, touched or
/// not.
const DEFAULT_BYTES: usize = 1 << 20;

/// The least that a panic in a kernel needs, and its message.
const MIN_BYTES: usize = 32 << 10;

/// More than a launch needs of the stack that it is called on, its threads apart.
const HEADROOM: usize = 12 << 10;

/// More than any address space has, and little enough that rounding up does not overflow.
const MAX_BYTES: usize = isize::MAX as usize >> 8;

/// The size of a new stack.
static BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_BYTES);

/// Stacks that all blocks together may reserve: half of what Linux allows.
const LIMIT: u32 = 16 << 10;

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), reserved: 0 });
static RELEASED: Condvar = Condvar::new();

struct Pool {
    free: Vec<FiberStack>,
    reserved: u32,
}

thread_local! {
    /// The stack that this core keeps.
    static KEPT: Cell<Option<FiberStack>> = const { Cell::new(None) };
    /// Reservations of blocks that this core is in the middle of.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Sets the size of each thread's stack in all later launches of this process, at least 32 KiB.
///
/// The default is 1 MiB. Memory that no thread touches is not used. Frames are several times larger in
/// debug builds than on a GPU.
pub fn set_stack_bytes(bytes: usize) {
    BYTES.store(bytes.clamp(MIN_BYTES, MAX_BYTES).next_multiple_of(4096), Relaxed);
}

/// The size of each thread's stack.
#[must_use]
pub fn stack_bytes() -> usize {
    BYTES.load(Relaxed)
}

/// Overflows here where a launch by a kernel's thread would overflow further on: there it holds locks
/// and reserved stacks, here nothing.
#[inline(never)]
pub(crate) fn claim_headroom() {
    // A frame of this size touches each of its pages.
    black_box(&mut [MaybeUninit::<u8>::uninit(); HEADROOM]);
}

/// A stack with a guard page at its end.
pub(crate) struct FiberStack {
    stack: DefaultStack,
    bytes: usize,
}

impl FiberStack {
    fn new(bytes: usize) -> io::Result<Self> {
        Ok(Self { stack: DefaultStack::new(bytes)?, bytes })
    }
}

// SAFETY: the default stack.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        self.stack.base()
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.stack.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.stack.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// The stack that this core keeps; none where thread-local destructors already run.
fn take_kept() -> Option<FiberStack> {
    KEPT.try_with(Cell::take).ok().flatten()
}

/// The stacks of one block. Dropped on the thread that made it.
pub(crate) struct Stacks {
    threads: u32,
    bytes: usize,
    free: Vec<FiberStack>,
    has_begun: bool,
    has_reserved: bool,
}

impl Stacks {
    /// For a block of so many threads. Reserves nothing yet.
    pub(crate) fn new(threads: u32) -> Self {
        let bytes = stack_bytes();
        Self { threads, bytes, free: Vec::new(), has_begun: false, has_reserved: false }
    }

    /// A stack for one fiber.
    pub(crate) fn take(&mut self) -> io::Result<FiberStack> {
        let kept = if self.has_begun {
            self.reserve();
            self.free.pop()
        } else {
            self.has_begun = true;
            take_kept()
        };
        match kept {
            Some(stack) if stack.bytes == self.bytes => Ok(stack),
            _ => FiberStack::new(self.bytes),
        }
    }

    /// Takes back a stack that no fiber uses any more.
    pub(crate) fn give(&mut self, stack: FiberStack) {
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
        let kept = take_kept().or_else(|| self.free.pop());
        // Fails where thread-local destructors already run, and frees the stack.
        let _ = KEPT.try_with(|place| place.set(kept));
        if self.has_reserved {
            HELD.set(HELD.get() - 1);
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            pool.reserved -= self.threads;
            pool.free.append(&mut self.free);
            RELEASED.notify_all();
        }
    }
}
