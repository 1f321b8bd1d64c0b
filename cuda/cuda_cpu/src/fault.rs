//! What a kernel did wrong, and where.

use std::fmt;
use std::panic::Location;

use thiserror::Error;

/// The place of a thread in its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// Block index in x, y, z.
    pub block: [u32; 3],
    /// Thread index within the block in x, y, z.
    pub thread: [u32; 3],
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        write!(f, "block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")
    }
}

/// A kernel did what a GPU leaves undefined, or stopped itself.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("kernel `{kernel}`, {at}: {kind}")]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The thread that ran into it.
    pub at: ThreadId,
    /// What happened.
    pub kind: FaultKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// Some threads of the block wait at a barrier that others will never reach.
    #[error("barrier divergence: {waiting} of {threads} threads wait at {barrier}, {others}")]
    BarrierDivergence {
        /// Threads that wait at the same barrier as the reporting one.
        waiting: u32,
        /// Threads of the block.
        threads: u32,
        /// The barrier's place in the source.
        barrier: &'static Location<'static>,
        /// What the rest of the block does instead.
        others: Elsewhere,
    },
    /// A warp operation names lanes that do not take part in it.
    #[error(
        "warp divergence: {op} at {place} waits for lanes {missing:#010x} of mask {mask:#010x}"
    )]
    WarpDivergence {
        /// The operation.
        op: &'static str,
        /// Its place in the source.
        place: &'static Location<'static>,
        /// Lanes that must take part.
        mask: u32,
        /// Those of them that will never come.
        missing: u32,
    },
    /// An access outside of a view, slice, shared array or constant.
    #[error("out of bounds: {access} of {what} at {index} outside of {extent}")]
    OutOfBounds {
        /// Load or store.
        access: AccessKind,
        /// The kind of memory.
        what: &'static str,
        /// The index, in elements.
        index: Index,
        /// What there is, in elements.
        extent: Index,
    },
    /// A thread used a handle of another launch or of another thread.
    #[error("stale handle: this {what} belongs to another launch or thread; take it from this one")]
    StaleHandle {
        /// The kind of handle.
        what: &'static str,
    },
    /// The block's arrays together are larger than any GPU's shared memory.
    #[error(
        "`{array}` makes {bytes} bytes of shared memory, over the {limit} that a block can have; use smaller arrays"
    )]
    SharedTooLarge {
        /// The array that is too much.
        array: &'static str,
        /// Bytes of all arrays, with this one.
        bytes: usize,
        /// What a block can have on the largest GPU.
        limit: usize,
    },
    /// Two threads touched the same shared memory between two barriers and one of them wrote.
    #[error(
        "shared memory race: {access} of byte {offset} of {array} meets a {other_access} by thread {other} with no barrier between"
    )]
    SharedRace {
        /// What the reporting thread did.
        access: AccessKind,
        /// What the other did before.
        other_access: AccessKind,
        /// Linear index of the other thread in the block.
        other: u32,
        /// Offset within the array.
        offset: usize,
        /// Where the shared array is declared.
        array: &'static str,
    },
    /// The kernel called `trap`.
    #[error("the kernel trapped")]
    Trap,
    /// Rust code in the kernel panicked: on a GPU it would have trapped.
    #[error("panic: {text}{}", .place.iter().map(|place| format!(", at {place}")).collect::<String>())]
    Panic {
        /// The panic's message.
        text: String,
        /// File, line and column. `None` if the program has replaced the panic hook, or the
        /// kernel threw a payload without a panic.
        place: Option<String>,
    },
    /// A thread filled its stack.
    #[error(
        "stack overflow: over {bytes} bytes; let it recurse less, keep large arrays in device memory, or call `cuda_cpu::set_stack_bytes` before the launch"
    )]
    StackOverflow {
        /// The size of a thread's stack.
        bytes: usize,
    },
    /// A destructor waited for other threads while its own thread unwound from a panic.
    #[error(
        "wait while unwinding: a destructor waits at {place} during a panic, which a GPU has not; do not synchronise in `drop`"
    )]
    WaitInUnwinding {
        /// The barrier or warp operation.
        place: &'static Location<'static>,
    },
    /// The grid or the block is empty or over CUDA's limits.
    #[error(
        "cannot launch a grid of {grid:?} blocks of {block:?} threads: CUDA's limits are [2147483647, 65535, 65535] blocks and 1024 threads, 64 of them along z, and no axis is 0"
    )]
    Shape {
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// Threads of a block in x, y, z.
        block: [u32; 3],
    },
    /// The system has no memory for the stack of another thread.
    #[error(
        "no memory for the stack of another thread: {error}; use smaller blocks or a smaller `cuda_cpu::set_stack_bytes`"
    )]
    NoStack {
        /// The system's message.
        error: String,
    },
}

/// What the threads do that are missing at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// So many have returned from the kernel.
    Returned(u32),
    /// At least one waits at another barrier.
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

/// Load, store or read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read-modify-write that other atomics cannot tear.
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
    /// Along a slice.
    Linear(u64),
    /// Column and row of a view.
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
