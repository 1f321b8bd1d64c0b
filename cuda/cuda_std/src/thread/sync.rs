//! Barriers of a block, memory fences, and waits.

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
