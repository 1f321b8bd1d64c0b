//! The errors that a launch can return, and the threads that cause them.

use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use thiserror::Error;

/// The position of a thread in its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// The block index in x, y, z.
    pub block: [u32; 3],
    /// The thread index within the block in x, y, z.
    pub thread: [u32; 3],
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        write!(f, "block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")
    }
}

/// The reason why a launch failed: behaviour that is undefined on a GPU, a panic or `trap` in the
/// kernel, or an impossible launch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("kernel `{kernel}`, {at}: {kind}")]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The thread that caused the fault.
    pub at: ThreadId,
    /// The cause.
    pub kind: FaultKind,
}

/// The cause of a [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the text of a variant names its fields")]
pub enum FaultKind {
    /// Some threads of the block wait at a barrier that other threads will never reach.
    #[error(
        "barrier divergence: {waiting} of {threads} threads wait at {barrier}, {others}, the first is thread ({},{},{}); all threads of a block must reach the same barrier",
        first[0],
        first[1],
        first[2]
    )]
    BarrierDivergence {
        waiting: u32,
        threads: u32,
        barrier: &'static Location<'static>,
        others: Elsewhere,
        first: [u32; 3],
    },
    /// Some lanes in the mask of a warp operation never reach this operation, or the calling lane
    /// is not in the mask.
    #[error(
        "warp divergence: {op} at {place} waits for lanes {missing:#010x} of mask {mask:#010x}{}; every lane of the mask must call it",
        .others.iter().map(|others| format!(", {others}")).collect::<String>()
    )]
    WarpDivergence {
        op: &'static str,
        place: &'static Location<'static>,
        mask: u32,
        missing: u32,
        /// The state of the missing lanes. `None` if the calling lane is not in the mask.
        others: Option<Elsewhere>,
    },
    /// An access outside a view, slice, shared array or constant.
    #[error(
        "out of bounds: {access} of {what} at index {index}, but the size is {extent}, at {place}"
    )]
    OutOfBounds {
        access: AccessKind,
        place: &'static Location<'static>,
        what: &'static str,
        /// The index, in elements.
        index: Index,
        /// The extent of the memory, in elements.
        extent: Index,
    },
    /// A thread used a handle that belongs to another launch or another thread.
    #[error(
        "stale handle: this {what} belongs to another launch or thread, at {place}; create it in the launch and thread that use it"
    )]
    StaleHandle { what: &'static str, place: &'static Location<'static> },
    /// The block's arrays together are larger than any GPU's shared memory.
    #[error(
        "`{array}` increases the block's shared memory to {bytes} bytes, over the limit of {limit}; use smaller arrays"
    )]
    SharedTooLarge {
        array: &'static str,
        bytes: usize,
        /// The largest amount of shared memory in bytes that a block can have on any GPU.
        limit: usize,
    },
    /// Two threads accessed the same shared memory without synchronisation in between, and the
    /// accesses were neither two loads nor two atomics.
    #[error(
        "shared memory race: {access} of byte {offset} of {array} at {place} races with an earlier {other_access} by thread {other} at {other_place}, with no barrier between them; call `sync_threads` between the two accesses, in all threads and in each round of a loop"
    )]
    SharedRace {
        access: AccessKind,
        place: &'static Location<'static>,
        other_access: AccessKind,
        /// The linear index of the other thread in the block.
        other: u32,
        other_place: &'static Location<'static>,
        /// The offset within the array in bytes.
        offset: usize,
        array: &'static str,
    },
    /// A thread read shared memory that no thread of the block has written.
    #[error(
        "uninitialised shared memory: {access} of byte {offset} of {array} at {place}, which no thread of the block has written; write it before the barrier, or wait for the asynchronous copy"
    )]
    Uninitialised {
        access: AccessKind,
        place: &'static Location<'static>,
        /// The offset within the array in bytes.
        offset: usize,
        array: &'static str,
    },
    /// Two threads accessed the same global memory without synchronisation, and at least one of
    /// them wrote.
    #[error(
        "global memory race: {access} at {place} races with an earlier {other_access} of the same bytes by {other} at {other_place}; the order of the threads is undefined on a GPU; use an atomic, or separate the accesses by a barrier or a launch"
    )]
    GlobalRace {
        access: AccessKind,
        place: &'static Location<'static>,
        other_access: AccessKind,
        other: ThreadId,
        other_place: &'static Location<'static>,
    },
    /// An access at an address that is not a multiple of its alignment.
    #[error(
        "misaligned: {access} at address {address:#x} must be aligned to {align} bytes, at {place}"
    )]
    Misaligned {
        access: AccessKind,
        address: usize,
        /// The required alignment in bytes.
        align: usize,
        place: &'static Location<'static>,
    },
    /// An access through a raw pointer to memory that does not exist.
    #[error(
        "invalid address {}{}{}; check the pointer arithmetic of the kernel",
        Address(*.address),
        .near.as_ref().map(|near| format!(", {near}")).unwrap_or_default(),
        At(.place, *.last)
    )]
    InvalidAddress {
        /// The address. `None` if the system does not tell: no pointer can have the address, or a
        /// vector instruction requires a higher alignment.
        address: Option<usize>,
        near: Option<String>,
        place: Option<String>,
        last: Option<&'static Location<'static>>,
    },
    /// A thread did not finish in time.
    #[error(
        "endless loop: the thread ran for {limit:?} without an end{}{}; if the work takes that long, raise the limit (`CUDA_CPU_CHECKS=limit=SECONDS`)",
        At(.place, *.last),
        .other.iter().map(|(other, place)| format!(", while {other} waits at {place}")).collect::<String>()
    )]
    Endless {
        limit: Duration,
        place: Option<String>,
        last: Option<&'static Location<'static>>,
        other: Option<(ThreadId, &'static Location<'static>)>,
    },
    /// The kernel called `trap`.
    #[error("the kernel trapped at {place}")]
    Trap { place: &'static Location<'static> },
    /// Rust code in the kernel panicked. On a GPU, the panic would end the launch, too.
    #[error("panic: {text}{}", .place.iter().map(|place| format!(", at {place}")).collect::<String>())]
    Panic {
        text: String,
        /// The file, line and column of the panic. `None` if the program has replaced the panic
        /// hook, or if the kernel unwound without a panic (`resume_unwind`).
        place: Option<String>,
    },
    /// A thread overflowed its stack.
    #[error(
        "stack overflow: the thread needs more than {bytes} bytes{}; reduce recursion, keep large arrays in device memory, or call `cuda_cpu::set_stack_bytes` before the launch",
        At(.place, *.last)
    )]
    StackOverflow { bytes: usize, place: Option<String>, last: Option<&'static Location<'static>> },
    /// A destructor waited for other threads while its own thread was unwinding from a panic.
    #[error(
        "wait while unwinding: a destructor waits at {place} during a panic, but a GPU does not unwind; do not synchronise in `drop`"
    )]
    WaitInUnwinding { place: &'static Location<'static> },
    /// The grid or the block is empty or exceeds CUDA's limits.
    #[error(
        "cannot launch a grid of {}×{}×{} blocks of {}×{}×{} threads: a grid must have 1 to 2147483647 blocks along x and 1 to 65535 along y and z; a block must have 1 to 1024 threads, at most 64 of them along z",
        .grid[0], .grid[1], .grid[2], .block[0], .block[1], .block[2]
    )]
    Shape { grid: [u32; 3], block: [u32; 3] },
    /// The system has no memory for another thread's stack.
    #[error(
        "cannot allocate the stack of another thread: {error}; use smaller blocks or pass a smaller size to `cuda_cpu::set_stack_bytes`"
    )]
    NoStack { error: String },
}

impl FaultKind {
    /// Returns the kind of a panic with this payload, outside the threads of a launch. Its place is
    /// unknown.
    #[must_use]
    pub fn of_panic(payload: &(dyn Any + Send)) -> Self {
        Self::Panic { text: text_of(payload), place: None }
    }
}

/// Returns the message of a panic.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a payload that is not a string".into())
}

/// Formats the position of a thread that was stopped, and of its last checked access or wait.
struct At<'a>(&'a Option<String>, Option<&'static Location<'static>>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.0 {
            write!(f, ", at {place}")?;
        }
        match self.1 {
            Some(place) => write!(f, "; the last checked access or wait was at {place}"),
            None => Ok(()),
        }
    }
}

/// Formats an address that the system may not tell.
struct Address(Option<usize>);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address:#x}"),
            None => f.write_str("that no pointer can have, or misaligned vector"),
        }
    }
}

/// The state of the threads that have not reached a barrier, or the lanes that have not reached a
/// warp operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// The number of threads that have returned from the kernel.
    Returned(u32),
    /// At least one thread waits at another barrier.
    Waiting(&'static Location<'static>),
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Returned(n) => write!(f, "{n} have returned"),
            Self::Waiting(place) => write!(f, "others wait at {place}"),
        }
    }
}

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// An atomic read-modify-write.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        })
    }
}

/// A one- or two-dimensional index or extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// An index into a slice.
    Linear(u64),
    /// The column and the row of an element of a view.
    Pixel(u32, u32),
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear(i) => write!(f, "{i}"),
            Self::Pixel(x, y) => write!(f, "({x},{y})"),
        }
    }
}
