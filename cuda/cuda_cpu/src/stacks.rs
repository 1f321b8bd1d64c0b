//! Stacks for fibers. They outlive blocks, because mapping a stack costs more than running a small
//! block.
//!
//! A stack and its guard page are two mappings, and Linux allows a process 65,530. On a machine
//! with many cores, blocks of 1024 waiting threads would exceed that if all cores ran one at once.
//! So a block whose threads wait reserves one stack per thread, and waits if that would exceed the
//! limit. A block whose threads do not wait needs one stack, which its core keeps.
//!
//! Memory that no thread has touched costs only address space, so stacks are large.

use std::cell::Cell;
use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// The default stack size, sufficient for the deep frames of debug builds. At 2 MiB, Linux may back
/// a stack with one huge page, touched or not.
const DEFAULT_BYTES: usize = 1 << 20;

/// The minimum stack size: enough for a panic in a kernel and its message.
const MIN_BYTES: usize = 32 << 10;

/// An upper bound of the stack that a launch needs on the calling thread, without its kernel
/// threads.
const HEADROOM: usize = 12 << 10;

/// Larger than any address space, and small enough that rounding up does not overflow.
const MAX_BYTES: usize = isize::MAX as usize >> 8;

/// The size of a new stack.
static BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_BYTES);

/// The number of stacks that all blocks together may reserve: half of the Linux limit.
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
    /// The number of unfinished blocks on this core that hold a reservation.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Sets the stack size of each thread in all later launches of this process, at least 32 KiB.
///
/// The default is 1 MiB. Untouched pages use no memory. Frames in debug builds are several times
/// larger than on a GPU.
pub fn set_stack_bytes(bytes: usize) {
    BYTES.store(bytes.clamp(MIN_BYTES, MAX_BYTES).next_multiple_of(4096), Relaxed);
}

/// Returns the size of each thread's stack in bytes.
#[must_use]
pub fn stack_bytes() -> usize {
    BYTES.load(Relaxed)
}

/// Overflows here if a launch by a kernel thread would overflow later. Later the thread would hold
/// locks and reserved stacks; here it holds nothing.
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

// SAFETY: every method forwards to the default stack.
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

/// Returns the stack that this core keeps. Returns `None` while thread-local destructors run.
fn take_kept() -> Option<FiberStack> {
    KEPT.try_with(Cell::take).ok().flatten()
}

/// The stacks of one block. Dropped on the OS thread that created it.
pub(crate) struct Stacks {
    threads: u32,
    bytes: usize,
    free: Vec<FiberStack>,
    has_begun: bool,
    has_reserved: bool,
}

impl Stacks {
    /// Prepares for a block of `threads` threads without reserving stacks.
    pub(crate) fn new(threads: u32) -> Self {
        let bytes = stack_bytes();
        Self { threads, bytes, free: Vec::new(), has_begun: false, has_reserved: false }
    }

    /// Returns a stack for one fiber.
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

    /// Takes back a stack that no fiber uses any longer.
    pub(crate) fn give(&mut self, stack: FiberStack) {
        self.free.push(stack);
    }

    /// Reserves a stack for each thread, once.
    fn reserve(&mut self) {
        if self.has_reserved || !self.free.is_empty() {
            return;
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        // A nested block must not wait, because the outer block holds a reservation.
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
        // Fails while thread-local destructors run; the stack is then freed.
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
