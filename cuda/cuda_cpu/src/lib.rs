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
mod shared;
mod stacks;
pub mod texture;
mod warp;

use rayon::prelude::*;

pub use block::{
    block_dim, block_idx, fail, grid_dim, shared_access, shared_dynamic, shared_static,
    sync_threads, thread_idx, thread_rank, warp_exchange, with_constant,
};
pub use constant::ConstantBank;
pub use fault::{AccessKind, Elsewhere, Fault, FaultKind, Index, ThreadId};
pub use shared::SharedRegion;
pub use warp::WarpOp;

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

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
/// # Errors
/// The first [`Fault`] that any block ran into; which one, when several blocks fail, is not
/// specified. Memory written before the fault stays written.
pub fn launch(launch: &Launch<'_>, thread: &(impl Fn() + Sync)) -> Result<(), Fault> {
    let [gx, gy, gz] = launch.grid.map(u64::from);
    let run = |block: u64| {
        let index = [block % gx, block / gx % gy, block / (gx * gy)].map(|i| i as u32);
        block::run(launch, index, thread)
    };
    match gx * gy * gz {
        // One block has nothing to share out; waking the pool would cost more than it does.
        1 => run(0),
        blocks => (0..blocks).into_par_iter().try_for_each(run),
    }
}
