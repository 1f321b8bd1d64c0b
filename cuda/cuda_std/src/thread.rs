//! Where a thread is, the barriers of its block, and fences.

use glam::{UVec2, UVec3};

/// The four index vectors: name, what it is, its place in PTX and on the CPU.
macro_rules! index_vectors {
    ($($all:ident $x:ident $y:ident $z:ident: $what:literal, $ptx_x:ident $ptx_y:ident $ptx_z:ident, $cpu:ident;)+) => {$(
        #[doc = concat!($what, " along x.")]
        #[inline(always)]
        #[must_use]
        pub fn $x() -> u32 {
            index_vectors!(@read $ptx_x, $cpu, 0)
        }
        #[doc = concat!($what, " along y.")]
        #[inline(always)]
        #[must_use]
        pub fn $y() -> u32 {
            index_vectors!(@read $ptx_y, $cpu, 1)
        }
        #[doc = concat!($what, " along z.")]
        #[inline(always)]
        #[must_use]
        pub fn $z() -> u32 {
            index_vectors!(@read $ptx_z, $cpu, 2)
        }
        #[doc = concat!($what, ".")]
        #[inline(always)]
        #[must_use]
        pub fn $all() -> UVec3 {
            UVec3::new($x(), $y(), $z())
        }
    )+};
    (@read $ptx:ident, $cpu:ident, $axis:literal) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: reads a special register.
        unsafe { core::arch::nvptx::$ptx() as u32 }
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::$cpu()[$axis]
    }};
}

index_vectors! {
    thread_idx thread_idx_x thread_idx_y thread_idx_z: "Index of the thread in its block",
        _thread_idx_x _thread_idx_y _thread_idx_z, thread_idx;
    block_idx block_idx_x block_idx_y block_idx_z: "Index of the block in the grid",
        _block_idx_x _block_idx_y _block_idx_z, block_idx;
    block_dim block_dim_x block_dim_y block_dim_z: "Threads of a block",
        _block_dim_x _block_dim_y _block_dim_z, block_dim;
    grid_dim grid_dim_x grid_dim_y grid_dim_z: "Blocks of the grid",
        _grid_dim_x _grid_dim_y _grid_dim_z, grid_dim;
}

/// Index of the thread in a one-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Column and row of the thread in a two-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// Place of the thread in a three-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    index_2d().extend(block_idx_z() * block_dim_z() + thread_idx_z())
}

/// Linear index of the thread in its grid: blocks x fastest, in each of them threads by [`rank`].
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let (block, grid, dim) = (block_idx(), grid_dim(), block_dim());
    let block = (block.z * grid.y + block.y) * grid.x + block.x;
    block * (dim.x * dim.y * dim.z) + rank()
}

/// Returns true in the first thread of the first block.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::ZERO && thread_idx() == UVec3::ZERO
}

/// Threads of a warp.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

/// An index along x that no other thread of the launch has.
///
/// A launch that extends along another axis stops with a fault here; `#[kernel(dims(1))]` rules that
/// out before, and then the GPU checks nothing.
#[inline(always)]
#[must_use]
pub fn unique_1d() -> crate::Unique1d {
    crate::Unique1d::current()
}

/// A column and row that no other thread of the launch has; as [`unique_1d`] for `dims(2)`, which is
/// what a safe kernel has if it says nothing.
#[inline(always)]
#[must_use]
pub fn unique_2d() -> crate::Unique2d {
    crate::Unique2d::current()
}

/// Linear index of the thread in its block, x fastest. Warp `n` holds ranks `32n` to `32n + 31`.
#[inline(always)]
#[must_use]
pub fn rank() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

/// Waits until every thread of the block is here, and orders their memory accesses.
///
/// Every thread of the block must reach the same call, the same number of times. A kernel may state
/// how many barriers its compiled code has: `#[kernel(barriers(2))]`. On the CPU a block that diverges is a
/// [`BarrierDivergence`](cuda_cpu::FaultKind::BarrierDivergence) fault; on a GPU it is undefined.
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: convergence is the kernel's obligation, stated above and checked on the CPU.
    unsafe {
        core::arch::nvptx::_syncthreads();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::sync_threads();
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    fn barrier_popc(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    fn barrier_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    fn barrier_or(barrier: u32, predicate: bool) -> bool;
}

/// [`sync_threads`], and the number of threads whose `predicate` is not 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: convergence, as for `sync_threads`.
    return unsafe { barrier_popc(0, predicate != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::sync_threads_count(predicate != 0)
}

/// [`sync_threads`], and 1 if the `predicate` of every thread is not 0, else 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: convergence, as for `sync_threads`.
    return unsafe { barrier_and(0, predicate != 0) }.into();
    #[cfg(not(target_arch = "nvptx64"))]
    (cuda_cpu::sync_threads_count(predicate == 0) == 0).into()
}

/// [`sync_threads`], and 1 if the `predicate` of any thread is not 0, else 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: convergence, as for `sync_threads`.
    return unsafe { barrier_or(0, predicate != 0) }.into();
    #[cfg(not(target_arch = "nvptx64"))]
    (cuda_cpu::sync_threads_count(predicate != 0) != 0).into()
}

/// Waits until the kernel before this one in its stream has ended, and all that it wrote is seen.
///
/// A kernel begins with that, unless it calls this: then it may begin, on a GPU from Hopper on, while the one before
/// still runs, and until here do what needs no memory but its arguments and shared memory, and prefetch. Every path
/// through such a kernel comes here, also one that has nothing to do: whoever comes next in the stream waits for this
/// kernel alone.
#[inline(always)]
pub fn wait_for_kernel_before() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: waits, nothing else; without `nomem` or `readonly` the compiler moves no access across. `cuda_builder`
    // leaves it out of PTX for GPUs that do not know it, where kernels do not overlap.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack));
    }
}

/// Defines a fence of one scope.
macro_rules! fence {
    ($(#[$doc:meta])+ $name:ident, $ptx:literal) => {
        $(#[$doc])+
        #[inline(always)]
        pub fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: orders memory, nothing else; without `nomem` or `readonly` the compiler moves no access across.
            unsafe {
                core::arch::asm!($ptx, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
    };
}

fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as other threads of
    /// the block see them.
    block_fence, "fence.acq_rel.cta;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as other threads of the
    /// device see them. With an atomic access behind it, what was written before is there for whoever
    /// read the atomic and fenced too.
    device_fence, "fence.acq_rel.gpu;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as the host and
    /// other devices see them.
    system_fence, "fence.acq_rel.sys;"
}

/// [`device_fence`]: orders memory accesses as other threads of the grid see them.
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Suspends the thread for a time between 0 and twice `nanos`, at most a millisecond.
///
/// The CPU gives way to other threads of the system and returns.
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: waits, nothing else.
    unsafe {
        core::arch::asm!("nanosleep.u32 {};", in(reg32) nanos, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = nanos;
        std::thread::yield_now();
    }
}
