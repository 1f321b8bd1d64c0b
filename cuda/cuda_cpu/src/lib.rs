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
//! thread: barrier and warp divergence, out-of-bounds accesses, and races on shared memory.
//!
//! The crate does not simulate timing, weak memory ordering or dynamic parallelism. It does not
//! detect races on global memory. Kernels use this crate through `cuda_std`, not directly.

mod block;
mod constant;
mod fault;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod overflow;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod overflow {
    //! On this platform a stack overflow ends the process with an access violation.
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

/// The number of lanes in a warp.
pub const WARP_SIZE: u32 = 32;

/// The byte that fills uninitialised memory. A float whose bytes all have this value is huge (`f16`
/// 61,280, `f32` 1.3e36, `f64` 6.5e286). An integer is a large positive number, which is out of
/// bounds as an index.
///
/// The floats are deliberately finite. BLAS-like programs multiply an uninitialised result by 0,
/// and with a NaN the product would be NaN.
///
/// Shared memory initially contains this byte. An allocator that simulates device memory should
/// fill new allocations with this byte, too (see [`poison`]). A kernel that reads uninitialised
/// memory then computes a wrong result on the CPU instead of using zeros.
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
    /// Whether accesses to shared memory are checked for races. Bounds and divergence are checked
    /// in any case.
    pub check_races: bool,
}

/// Runs `thread` once for every thread of the grid and returns when all have finished.
///
/// A launch within a kernel runs its blocks one after the other. The first launch of a process
/// installs a panic hook and, on Linux, a SIGSEGV handler. Both forward events that do not come
/// from a kernel to the hook and handler that were installed before.
///
/// # Errors
/// Returns the [`Fault`] of a block that failed. If several blocks fail, it is unspecified which
/// fault is returned. Memory written before the fault stays written.
pub fn launch(launch: &Launch<'_>, thread: &(impl Fn() + Sync)) -> Result<(), Fault> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    if std::thread::panicking() {
        // A destructor called `launch` during unwinding. The kernel's threads must not count as
        // panicking, so they run on another OS thread.
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
    // The product is below 2⁶³, because `check_shape` limits the grid.
    match gx * gy * gz {
        // A single block cannot be distributed, and waking the pool would cost more than running it
        // here.
        1 => run(0),
        // A nested launch does not use the pool. While an OS thread waits in `join`, it might start
        // another block of the outer launch, in the middle of the running block.
        blocks if block::is_running() => (0..blocks).try_for_each(run),
        blocks => share_out(0..blocks, &run, &AtomicBool::new(false)),
    }
}

/// Distributes `blocks` over rayon's global thread pool. After a fault in any block, no further
/// block starts.
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
