//! Thread indices, block barriers, memory fences and waits.

use glam::{UVec2, UVec3};

/// Defines the functions that return indices and dimensions. A row has the function names for the
/// vector and for x, y and z, a description, the PTX functions and the CPU function.
macro_rules! index_vectors {
    ($($all:ident $x:ident $y:ident $z:ident: $what:literal, $ptx_x:ident $ptx_y:ident $ptx_z:ident, $cpu:ident;)+) => {$(
        #[doc = concat!("Returns the ", $what, " along x.")]
        #[inline(always)]
        #[must_use]
        pub fn $x() -> u32 {
            index_vectors!(@read $ptx_x, $cpu, 0)
        }
        #[doc = concat!("Returns the ", $what, " along y.")]
        #[inline(always)]
        #[must_use]
        pub fn $y() -> u32 {
            index_vectors!(@read $ptx_y, $cpu, 1)
        }
        #[doc = concat!("Returns the ", $what, " along z.")]
        #[inline(always)]
        #[must_use]
        pub fn $z() -> u32 {
            index_vectors!(@read $ptx_z, $cpu, 2)
        }
        #[doc = concat!("Returns the ", $what, " along x, y and z.")]
        #[inline(always)]
        #[must_use]
        pub fn $all() -> UVec3 {
            UVec3::new($x(), $y(), $z())
        }
    )+};
    (@read $ptx:ident, $cpu:ident, $axis:literal) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the function only reads a special register.
        unsafe { core::arch::nvptx::$ptx() as u32 }
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::$cpu()[$axis]
    }};
}

index_vectors! {
    thread_idx thread_idx_x thread_idx_y thread_idx_z: "index of the thread in its block",
        _thread_idx_x _thread_idx_y _thread_idx_z, thread_idx;
    block_idx block_idx_x block_idx_y block_idx_z: "index of the block in the grid",
        _block_idx_x _block_idx_y _block_idx_z, block_idx;
    block_dim block_dim_x block_dim_y block_dim_z: "number of threads per block",
        _block_dim_x _block_dim_y _block_dim_z, block_dim;
    grid_dim grid_dim_x grid_dim_y grid_dim_z: "number of blocks in the grid",
        _grid_dim_x _grid_dim_y _grid_dim_z, grid_dim;
}

/// Returns the index of the thread in a one-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Returns the column and row of the thread in a two-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// Returns the indices of the thread in a three-dimensional grid.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    index_2d().extend(block_idx_z() * block_dim_z() + thread_idx_z())
}

/// Returns the linear index of the thread in its grid. The threads of a block have consecutive
/// indices, ordered by [`rank`]. Blocks are ordered with x fastest.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let (block, grid, dim) = (block_idx(), grid_dim(), block_dim());
    let block = (block.z * grid.y + block.y) * grid.x + block.x;
    block * (dim.x * dim.y * dim.z) + rank()
}

/// Returns true in the first thread of the first block, and false in all other threads.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::ZERO && thread_idx() == UVec3::ZERO
}

/// Returns the number of threads per warp.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

/// Returns an index along x that no other thread of the launch has.
///
/// In a launch that extends along y or z, this call ends the launch with a fault.
/// `#[kernel(dims(1))]` rejects such a launch in advance, so the GPU needs no check.
#[inline(always)]
#[must_use]
pub fn unique_1d() -> crate::Unique1d {
    crate::Unique1d::current()
}

/// Returns a column and row that no other thread of the launch has.
///
/// In a launch that extends along z, this call ends the launch with a fault. `dims(2)`, the default
/// of a safe kernel, rejects such a launch in advance.
#[inline(always)]
#[must_use]
pub fn unique_2d() -> crate::Unique2d {
    crate::Unique2d::current()
}

/// Returns the linear index of the thread in its block, with x fastest. Warp `n` holds ranks `32n`
/// to `32n + 31`.
#[inline(always)]
#[must_use]
pub fn rank() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

/// Waits until every thread of the block reaches this call, and orders their memory accesses.
///
/// Every thread of the block must reach the same call, the same number of times. On the CPU, a
/// divergent block causes a [`BarrierDivergence`](cuda_cpu::FaultKind::BarrierDivergence) fault. On
/// a GPU, the behaviour is undefined.
///
/// A kernel may declare the number of barriers in its compiled code: `#[kernel(barriers(2))]`.
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the kernel must ensure convergence, as documented above. The CPU checks it.
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

/// Calls [`sync_threads`] and returns the number of threads whose `predicate` is not 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the kernel must ensure convergence, as for `sync_threads`.
    return unsafe { barrier_popc(0, predicate != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::sync_threads_count(predicate != 0)
}

/// Calls [`sync_threads`] and returns 1 if the `predicate` of every thread is not 0, else 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the kernel must ensure convergence, as for `sync_threads`.
    return unsafe { barrier_and(0, predicate != 0) }.into();
    #[cfg(not(target_arch = "nvptx64"))]
    (cuda_cpu::sync_threads_count(predicate == 0) == 0).into()
}

/// Calls [`sync_threads`] and returns 1 if the `predicate` of any thread is not 0, else 0.
#[inline(always)]
#[track_caller]
#[must_use]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the kernel must ensure convergence, as for `sync_threads`.
    return unsafe { barrier_or(0, predicate != 0) }.into();
    #[cfg(not(target_arch = "nvptx64"))]
    (cuda_cpu::sync_threads_count(predicate != 0) != 0).into()
}

/// Waits until the previous kernel in the stream has ended and its writes are visible.
///
/// A kernel that does not call this function starts only after the previous kernel has ended. On
/// Hopper and later GPUs, a kernel that calls this function may start while the previous one still
/// runs. Until this call, the kernel may only use the values of its arguments, access shared
/// memory, and prefetch.
///
/// Every path through such a kernel must reach this call, even a path without work, because the
/// next kernel in the stream waits only for this one.
#[inline(always)]
pub fn wait_for_kernel_before() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction only waits. `nomem` and `readonly` are omitted so that the compiler
    // moves no access across it. `cuda_builder` removes the instruction for GPUs that do not
    // support it. On such GPUs, kernels do not overlap.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack));
    }
}

/// Defines a fence with one scope.
macro_rules! fence {
    ($(#[$doc:meta])+ $name:ident, $ptx:literal) => {
        $(#[$doc])+
        #[inline(always)]
        pub fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the instruction only orders memory accesses. `nomem` and `readonly` are
            // omitted so that the compiler moves no access across it.
            unsafe {
                core::arch::asm!($ptx, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                cuda_cpu::fence();
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            }
        }
    };
}

fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as other threads
    /// of the block observe them.
    block_fence, "fence.acq_rel.cta;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as other threads
    /// of the device observe them.
    ///
    /// To publish data, write the data, call this function, then write an atomic. A thread that
    /// reads the atomic's new value and then calls this function can read the data.
    device_fence, "fence.acq_rel.gpu;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as the host and
    /// other devices observe them.
    system_fence, "fence.acq_rel.sys;"
}

/// Orders memory accesses as other threads of the grid observe them. Calls [`device_fence`].
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Suspends the thread for a time between 0 and 2 · `nanos` nanoseconds, but at most one
/// millisecond.
///
/// On the CPU, lets the other threads of the block run instead.
#[inline(always)]
#[track_caller]
pub fn nanosleep(nanos: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("nanosleep.u32 {};", in(reg32) nanos, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = nanos;
        cuda_cpu::pause();
    }
}
