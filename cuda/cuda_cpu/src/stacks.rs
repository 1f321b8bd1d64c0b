//! Stacks for fibers. Blocks reuse stacks, because mapping a new stack costs more time than running
//! a small block.
//!
//! A stack and its guard page are two of the 65,530 memory mappings that Linux allows a process.
//! A block whose threads wait therefore reserves one stack per thread, and is delayed while all
//! blocks together would exceed [`LIMIT`]. A block whose threads do not wait needs one stack, which
//! the OS thread keeps for its next block. Pages that no thread has touched use only address space.

use std::cell::Cell;
use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// The default stack size, sufficient for the deep frames of debug builds. It is below 2 MiB,
/// because Linux may back a stack of that size with a huge page even if little of it is used.
const DEFAULT_BYTES: usize = 1 << 20;

/// The minimum stack size: enough for a panic in a kernel and its message.
const MIN_BYTES: usize = 32 << 10;

/// An upper bound in bytes of the stack that a launch needs on the calling thread. The threads of
/// the launched kernel have their own stacks.
const HEADROOM: usize = 12 << 10;

/// The maximum stack size: larger than any address space, and small enough that rounding up does
/// not overflow.
const MAX_BYTES: usize = isize::MAX as usize >> 8;

/// The size of a new stack in bytes.
static BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_BYTES);

/// The number of stacks that all blocks together may reserve. They use half of the mappings that
/// Linux allows.
const LIMIT: u32 = 16 << 10;

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), reserved: 0 });
static RELEASED: Condvar = Condvar::new();

struct Pool {
    free: Vec<FiberStack>,
    reserved: u32,
}

thread_local! {
    /// The stack that this OS thread keeps between blocks.
    static KEPT: Cell<Option<FiberStack>> = const { Cell::new(None) };
    /// The number of unfinished blocks on this OS thread that have reserved stacks.
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

/// Overflows the stack now if a nested launch would overflow it later. At that time the thread
/// would hold locks and reserved stacks; now it holds none.
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

// SAFETY: every method forwards to `DefaultStack`, which satisfies the trait's contract.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        self.stack.base()
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// Takes the stack that this OS thread keeps, if any. Returns `None` while thread-local destructors
/// run.
fn take_kept() -> Option<FiberStack> {
    KEPT.try_with(Cell::take).ok().flatten()
}

/// The stacks of one block. It must be dropped on the OS thread that created it.
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
        // A nested block must not wait: the outer block keeps its reservation until the nested one
        // has finished, so both could wait forever.
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
        // `try_with` fails while thread-local destructors run; the stack is then freed.
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
