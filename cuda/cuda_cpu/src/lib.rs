//! Runs GPU kernels on the CPU with the GPU's meaning: grids of blocks of threads, warps of 32,
//! barriers, shared memory, constant memory and textures.
//!
//! A kernel arrives here as a closure that is one thread's work; [`launch`] calls it once for every
//! thread of the grid. Blocks are spread over the cores. Within a block threads are scheduled
//! cooperatively, and the trick is that a thread gets a fiber of its own only when it has to wait:
//! a fiber runs threads one after the other in a plain loop until one of them reaches a barrier,
//! and only then does the next thread start on another fiber. A kernel without barriers is
//! therefore a plain loop, without being told so.
//!
//! What a GPU leaves undefined is reported here as a [`Fault`] that names kernel, block and thread:
//! barrier and warp divergence, access out of bounds, a race on shared memory between two barriers.
//!
//! Not here: timing (a CPU says nothing about a GPU's speed), races on global memory, weak memory
//! ordering, and dynamic parallelism. Kernels do not use this crate; `cuda_std` does for them.

mod block;
mod constant;
mod fault;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod overflow;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod overflow {
    //! An overflow is an access violation here.
    pub(crate) fn prepare() {}
}
mod panics;
mod shared;
mod stacks;
pub mod texture;
mod warp;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

pub use block::{
    block_dim, block_idx, fail, grid_dim, is_shared, launch_id, shared_access, shared_bytes,
    shared_dynamic, shared_static, sync_threads, sync_threads_count, thread_idx, thread_rank,
    warp_exchange, with_constant,
};
pub use constant::ConstantBank;
pub use fault::{AccessKind, Elsewhere, Fault, FaultKind, Index, ThreadId};
pub use shared::SharedRegion;
pub use stacks::{set_stack_bytes, stack_bytes};
pub use warp::WarpOp;

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// The byte that uninitialised memory is filled with. A float of it is huge (`f16` 61,280, `f32` 1.3e36,
/// `f64` 6.5e286), an integer is a large positive number, so an index lies out of bounds.
///
/// Floats are finite on purpose: BLAS-like programs scale an uninitialised result by 0, which a NaN would
/// turn into a failure that no GPU shows.
///
/// Shared memory starts with it. An allocator of device memory on the CPU fills every allocation that a
/// GPU leaves undefined, see [`poison`], so that a kernel that reads before it writes gives a wrong
/// result here too.
pub const POISON: u8 = 0x7b;

/// Fills memory that the program has not initialised with [`POISON`], and returns it as bytes.
pub fn poison(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    memory.fill(MaybeUninit::new(POISON));
    // SAFETY: just filled.
    unsafe { memory.assume_init_mut() }
}

/// One kernel launch: everything but the kernel's own arguments.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name, for reports.
    pub kernel: &'static str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: usize,
    /// Constant memory that the launch sees.
    pub constants: &'a ConstantBank,
    /// Whether shared memory is watched for races. Bounds and divergence always are.
    pub check_races: bool,
}

/// Runs `thread` once for every thread of the grid and returns when all are done.
///
/// A launch within a kernel runs its blocks one after the other. The first launch of a process adds a
/// panic hook and, on Linux, a handler for SIGSEGV; both pass on what does not come from a kernel.
///
/// # Errors
/// The first [`Fault`] that any block ran into; which one, when several blocks fail, is not
/// specified. Memory written before the fault stays written.
pub fn launch(launch: &Launch<'_>, thread: &(impl Fn() + Sync)) -> Result<(), Fault> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    if std::thread::panicking() {
        // The launch is in a destructor. Its threads must not count as panicking.
        return std::thread::scope(|scope| {
            let result = scope.spawn(|| crate::launch(launch, thread)).join();
            result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        });
    }
    check_shape(launch)?;
    if block::is_running() {
        stacks::claim_headroom();
    }
    panics::install_hook();
    let id = NEXT_ID.fetch_add(1, Relaxed);
    let [gx, gy, gz] = launch.grid.map(u64::from);
    let run = |block: u64| {
        let index = [block % gx, block / gx % gy, block / (gx * gy)].map(|i| i as u32);
        block::run(launch, id, index, thread)
    };
    // At most 2⁶³, by the shape's limits.
    match gx * gy * gz {
        // One block has nothing to share out; waking the pool would cost more than it does.
        1 => run(0),
        // A core that waits for others may begin another block of the outer launch.
        blocks if block::is_running() => (0..blocks).try_for_each(run),
        blocks => share_out(0..blocks, &run, &AtomicBool::new(false)),
    }
}

/// Runs each of these blocks on some thread of the pool that the program shares with rayon. After a fault no
/// further block begins.
fn share_out(
    blocks: Range<u64>,
    run: &(impl Fn(u64) -> Result<(), Fault> + Sync),
    failed: &AtomicBool,
) -> Result<(), Fault> {
    match blocks.end - blocks.start {
        _ if failed.load(Relaxed) => Ok(()),
        1 => run(blocks.start).inspect_err(|_| failed.store(true, Relaxed)),
        count => {
            let middle = blocks.start + count / 2;
            let (first, second) = rayon_core::join(
                || share_out(blocks.start..middle, run, failed),
                || share_out(middle..blocks.end, run, failed),
            );
            first.and(second)
        }
    }
}

/// Refuses what CUDA does.
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
