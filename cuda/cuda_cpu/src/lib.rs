//! Runs GPU kernels on the CPU with the GPU's semantics: grids of blocks of threads, warps of 32
//! lanes, barriers, shared memory, constant memory and textures.
//!
//! A kernel is a closure that does the work of one thread. [`launch`] calls it once for every
//! thread of the grid and distributes blocks over the cores. Within a block, threads are scheduled
//! cooperatively. A fiber runs threads one after the other until a thread has to wait, at a barrier
//! or in a warp operation. That thread keeps the fiber, and the next thread starts on another
//! fiber. A kernel without such waits therefore runs as a plain loop.
//!
//! Behaviour that is undefined on a GPU is reported as a [`Fault`] that names the kernel, block and
//! thread, and the source position of each access involved:
//!
//! - always: barrier and warp divergence, out-of-bounds and misaligned accesses, panics, stack
//!   overflows, and accesses to addresses without memory;
//! - with [`Checks`]: races on shared memory, reads of shared memory that no thread has written,
//!   races on global memory, and endless loops.
//!
//! A thread that waits in a loop for another thread or block lets it run.
//!
//! The functions that act on the running thread or block, such as [`thread_idx`], panic outside a
//! launch unless their documentation says otherwise.
//!
//! A [`profile`] counts the memory requests of kernels per source line.
//!
//! The crate does not simulate timing (a CPU says nothing about a GPU's speed), weak memory
//! ordering or dynamic parallelism. Kernels use this crate through `cuda_std`, not directly.
//!
//! ```
//! use cuda_cpu::{Launch, launch, sync_threads, thread_rank};
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! let sum = AtomicU32::new(0);
//! launch(&Launch::new("sum", [1, 1, 1], [64, 1, 1]), &|| {
//!     sum.fetch_add(thread_rank(), Relaxed);
//!     sync_threads();
//!     // Every thread sees the values of all 64 threads.
//!     assert_eq!(sum.load(Relaxed), 2016);
//! })?;
//! # Ok::<(), cuda_cpu::Fault>(())
//! ```

mod arrays;
mod backtrace;
mod block;
mod checks;
mod clock;
mod constant;
mod fault;
mod global;
mod grid;
pub mod memory;
mod order;
mod pool;
pub mod profile;
mod shadow;
mod shared;
mod signals;
mod stacks;
pub mod texture;
mod watchdog;

use std::mem::MaybeUninit;

pub use block::{
    Threads, WarpOp, atomic_access, block_dim, block_idx, commit_copies, fail, fence,
    global_access, grid_dim, is_shared, launch_id, pause, shared_access, shared_bytes,
    shared_dynamic, shared_static, shared_untracked, spin, start_copy, sync_threads,
    sync_threads_count, thread_idx, thread_rank, wait_for_copies, warp_exchange, with_constant,
};
pub use checks::{Checks, UnknownCheck};
pub use constant::ConstantBank;
pub use fault::{AccessKind, Elsewhere, Fault, FaultKind, Index, ThreadId};
use grid::Failure;
pub use pool::{in_pool, is_in_launch};
pub use shared::SharedRegion;
pub use stacks::{set_stack_bytes, stack_bytes};

/// The number of lanes in a warp.
pub const WARP_SIZE: u32 = 32;

/// The byte that fills shared memory at first, and that an allocator which simulates device memory
/// should fill new allocations with (see [`poison`]). A kernel that reads uninitialised memory then
/// computes a wrong result on the CPU instead of using zeros.
///
/// A float whose bytes all have this value is huge (`f16` 61,280, `f32` 1.3e36, `f64` 6.5e286) but
/// finite, because BLAS-like programs multiply an uninitialised result by 0. An integer is a large
/// positive number, which is out of bounds as an index.
pub const POISON: u8 = 0x7b;

/// Fills uninitialised memory with [`POISON`] and returns it as bytes.
pub fn poison(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    memory.fill(MaybeUninit::new(POISON));
    // SAFETY: `fill` has just initialised every byte.
    unsafe { memory.assume_init_mut() }
}

/// The configuration of a kernel launch, without the kernel's arguments.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name in reports.
    pub kernel: &'static str,
    /// The number of blocks in x, y, z.
    pub grid: [u32; 3],
    /// The number of threads per block in x, y, z.
    pub block: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub dynamic_shared: usize,
    /// The constant memory that the kernel reads.
    pub constants: &'a ConstantBank,
    /// The checks that can be turned on and off.
    pub checks: Checks,
}

impl Launch<'_> {
    /// Describes a launch of `grid` blocks of `block` threads, with the [default](Checks::default)
    /// checks. It has no dynamic shared memory, and constants read as zero.
    #[must_use]
    pub fn new(kernel: &'static str, grid: [u32; 3], block: [u32; 3]) -> Self {
        static EMPTY: ConstantBank = ConstantBank::EMPTY;
        let checks = Checks::default();
        Self { kernel, grid, block, dynamic_shared: 0, constants: &EMPTY, checks }
    }

    /// Returns the index in x, y, z of the block with a linear index.
    fn block_index(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [linear % x, linear / x % y, linear / (x * y)].map(|i| i as u32)
    }

    /// Returns the index in x, y, z of the thread with a linear index in its block.
    fn thread_index(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / (x * y)]
    }
}

/// A kernel with its arguments, which runs the threads of a fiber. It is a trait object, so the
/// simulator is compiled once and not for each kernel.
pub type Body<'a> = dyn Fn(&mut Threads<'_>) + Sync + 'a;

/// Runs `thread` once for every thread of the grid and returns when all have finished.
///
/// A launch within a kernel, or with checks that require it, runs its blocks one after the other.
/// The first launch of a process installs a panic hook and, on Linux, a SIGSEGV handler. Both
/// forward events that do not come from a kernel to the hook and handler that were installed
/// before.
///
/// ```
/// use cuda_cpu::{FaultKind, Launch, ThreadId, block_dim, block_idx, launch, thread_idx};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let out: [AtomicU32; 8] = Default::default();
/// let square = || {
///     let i = block_idx()[0] * block_dim()[0] + thread_idx()[0];
///     out[i as usize].store(i * i, Relaxed);
/// };
/// launch(&Launch::new("square", [2, 1, 1], [4, 1, 1]), &square)?;
/// assert_eq!(out.each_ref().map(|value| value.load(Relaxed)), [0, 1, 4, 9, 16, 25, 36, 49]);
///
/// // The third block is outside `out`.
/// let fault = launch(&Launch::new("square", [3, 1, 1], [4, 1, 1]), &square).unwrap_err();
/// assert_eq!(fault.at, ThreadId { block: [2, 0, 0], thread: [0, 0, 0] });
/// assert!(matches!(fault.kind, FaultKind::Panic { .. }));
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
///
/// A thread that overflows its stack, accesses an invalid address or never ends is stopped at an
/// arbitrary instruction, without running destructors. Other OS threads may still use what it has
/// borrowed, for instance in a [`std::thread::scope`]. Therefore, this function then prints the fault
/// and ends the process; [`launch_stoppable`] returns it.
///
/// # Errors
/// Returns the [`Fault`] of the first block that failed, in the order in which blocks start. Memory
/// written before the fault stays written. A grid or block that is empty or exceeds CUDA's limits
/// is a [`FaultKind::Shape`].
pub fn launch(launch: &Launch<'_>, thread: &(impl Fn() + Sync)) -> Result<(), Fault> {
    run(launch, &|threads: &mut Threads<'_>| threads.each(thread)).map_err(|failure| {
        let Failure { fault, was_stopped } = failure;
        if was_stopped {
            eprintln!("{fault}");
            eprintln!("the process ends, because only `launch_stoppable` can return this fault");
            std::process::abort();
        }
        *fault
    })
}

/// Runs a kernel like [`launch`], and also returns faults of threads that were stopped. `body` runs
/// all threads of a fiber: it calls [`Threads::next`] before each of them.
///
/// # Safety
/// `body` must not let other OS threads use memory that is freed or changed after the launch, for
/// instance in a [`std::thread::scope`]. They may still run when the launch returns.
pub unsafe fn launch_stoppable(launch: &Launch<'_>, body: &Body<'_>) -> Result<(), Fault> {
    run(launch, body).map_err(|failure| *failure.fault)
}

fn run(launch: &Launch<'_>, body: &Body<'_>) -> Result<(), Failure> {
    if std::thread::panicking() {
        // A destructor launched during unwinding. The kernel's threads must not count as panicking,
        // so they run on another OS thread, which must not wait for the threads of a launch that
        // waits for it.
        let is_nested = pool::is_in_launch();
        return std::thread::scope(|scope| {
            let nested = || {
                pool::set_in_launch(is_nested);
                run(launch, body)
            };
            let result = scope.spawn(nested).join();
            result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        });
    }
    check_shape(launch).map_err(|fault| Failure { fault: fault.into(), was_stopped: false })?;
    if block::is_running() {
        stacks::claim_headroom();
    }
    block::install_panic_hook();
    let _watch = watchdog::Watch::new(launch.checks.limit);
    // A launch by a kernel is not profiled.
    let profile = if block::is_running() { None } else { profile::Collector::if_wanted() };
    grid::run(launch, profile.as_ref(), body)?;
    if let Some(profile) = profile {
        profile.finish(launch.kernel);
    }
    Ok(())
}

/// Returns a fault if the grid or the block is empty or exceeds CUDA's limits.
fn check_shape(launch: &Launch<'_>) -> Result<(), Fault> {
    let Launch { kernel, grid, block, .. } = *launch;
    let threads = block.into_iter().fold(1, u32::saturating_mul);
    let is_empty = grid.contains(&0) || block.contains(&0);
    let is_large = grid[0] > i32::MAX as u32 || grid[1].max(grid[2]) > 65535;
    if is_empty || is_large || threads > 1024 || block[2] > 64 {
        let at = ThreadId { block: [0; 3], thread: [0; 3] };
        return Err(Fault { kernel, at, kind: FaultKind::Shape { grid, block } });
    }
    Ok(())
}
