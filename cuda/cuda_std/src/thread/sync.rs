//! Barriers of a block, memory fences, and waits.

/// Waits until every thread of the block reaches this call, and orders their memory accesses.
///
/// Every thread of the block must reach the same call, the same number of times. On the CPU, a
/// divergent block causes a [`BarrierDivergence`](cuda_cpu::FaultKind::BarrierDivergence) fault. On
/// a GPU, the behaviour is undefined.
///
/// A kernel may declare the number of barriers in its compiled code: `#[kernel(barriers(2))]`.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::{shared_array, thread};
///
/// launch(&Launch::new("exchange", [1, 1, 1], [64, 1, 1]), &|| {
///     let tile = shared_array![u32; 64];
///     let i = thread::rank();
///     // SAFETY: the indices are less than 64, and the barrier separates the accesses.
///     unsafe {
///         tile.store(i, i);
///         thread::sync_threads();
///         assert_eq!(tile.load(63 - i), 63 - i);
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// launch(&Launch::new("count", [1, 1, 1], [64, 1, 1]), &|| {
///     let is_small = thread::rank() < 10;
///     assert_eq!(thread::sync_threads_count(is_small.into()), 10);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// launch(&Launch::new("all", [1, 1, 1], [64, 1, 1]), &|| {
///     let i = thread::rank();
///     assert_eq!(thread::sync_threads_and((i < 64).into()), 1);
///     assert_eq!(thread::sync_threads_and((i < 63).into()), 0);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// launch(&Launch::new("any", [1, 1, 1], [64, 1, 1]), &|| {
///     let i = thread::rank();
///     assert_eq!(thread::sync_threads_or((i == 63).into()), 1);
///     assert_eq!(thread::sync_threads_or((i == 64).into()), 0);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel(dims(1))]
/// pub fn double(input: Slice<f32>, out: SliceMut<f32>) {
///     let at = thread::unique_1d();
///     // While the previous kernel still runs, this one loads the input into the L2 cache.
///     input.prefetch(at.index());
///     thread::wait_for_kernel_before();
///     if let Some(value) = input.get(at) {
///         out.set(at, 2.0 * value);
///     }
/// }
/// ```
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
    ///
    /// ```
    /// use cuda_std::atomic::{AtomicU32, Ordering::Relaxed};
    /// use cuda_std::cpu::{Launch, launch};
    /// use cuda_std::thread;
    ///
    /// let (data, ready) = (AtomicU32::new(0), AtomicU32::new(0));
    /// launch(&Launch::new("publish", [1, 1, 1], [2, 1, 1]), &|| {
    ///     if thread::rank() == 0 {
    ///         data.store(7, Relaxed);
    ///         thread::block_fence();
    ///         ready.store(1, Relaxed);
    ///     } else if ready.load(Relaxed) == 1 {
    ///         thread::block_fence();
    ///         assert_eq!(data.load(Relaxed), 7);
    ///     }
    /// })?;
    /// # Ok::<(), cuda_std::cpu::Fault>(())
    /// ```
    block_fence, "fence.acq_rel.cta;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as other threads
    /// of the device observe them.
    ///
    /// To publish data, write the data, call this function, then write an atomic. A thread that
    /// reads the atomic's new value and then calls this function can read the data.
    ///
    /// ```
    /// use cuda_std::atomic::{AtomicU32, Ordering::Relaxed};
    /// use cuda_std::cpu::{Launch, launch};
    /// use cuda_std::thread;
    ///
    /// let (results, finished) = ([const { AtomicU32::new(0) }; 4], AtomicU32::new(0));
    /// let total = AtomicU32::new(0);
    /// launch(&Launch::new("sum", [4, 1, 1], [1, 1, 1]), &|| {
    ///     let block = thread::block_idx_x();
    ///     results[block as usize].store(10 * block, Relaxed);
    ///     thread::device_fence();
    ///     // The last block to finish sums the results of all blocks.
    ///     if finished.fetch_add(1, Relaxed) == 3 {
    ///         thread::device_fence();
    ///         total.store(results.iter().map(|result| result.load(Relaxed)).sum(), Relaxed);
    ///     }
    /// })?;
    /// assert_eq!(total.into_inner(), 60);
    /// # Ok::<(), cuda_std::cpu::Fault>(())
    /// ```
    device_fence, "fence.acq_rel.gpu;"
}
fence! {
    /// Orders the thread's memory accesses before the fence with those after it, as the host and
    /// other devices observe them.
    ///
    /// ```
    /// use cuda_std::atomic::{Ordering::Relaxed, SystemAtomicU32};
    /// use cuda_std::cpu::{Launch, launch};
    /// use cuda_std::thread;
    ///
    /// let (data, ready) = (SystemAtomicU32::new(0), SystemAtomicU32::new(0));
    /// launch(&Launch::new("publish", [1, 1, 1], [1, 1, 1]), &|| {
    ///     data.store(7, Relaxed);
    ///     thread::system_fence();
    ///     ready.store(1, Relaxed);
    /// })?;
    /// // The host, which may read `ready` while the kernel still runs, then finds the data.
    /// assert_eq!((ready.load(Relaxed), data.load(Relaxed)), (1, 7));
    /// # Ok::<(), cuda_std::cpu::Fault>(())
    /// ```
    system_fence, "fence.acq_rel.sys;"
}

/// Orders memory accesses as other threads of the grid observe them. Calls [`device_fence`].
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// launch(&Launch::new("fence", [4, 1, 1], [32, 1, 1]), &thread::grid_fence)?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Suspends the thread for a time between 0 and 2 · `nanos` nanoseconds, but at most one
/// millisecond.
///
/// On the CPU, lets the other threads of the block run instead.
///
/// ```
/// use cuda_std::atomic::{AtomicU32, Ordering};
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::thread;
///
/// let ready = AtomicU32::new(0);
/// launch(&Launch::new("wait", [1, 1, 1], [2, 1, 1]), &|| match thread::rank() {
///     0 => {
///         while ready.load(Ordering::Acquire) == 0 {
///             thread::nanosleep(100);
///         }
///     }
///     _ => ready.store(1, Ordering::Release),
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
