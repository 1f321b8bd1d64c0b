//! The launch that a handle belongs to.
//!
//! On the GPU a handle cannot outlive its launch. On the CPU a kernel can put one into a static, and
//! safe code could use it when the memory is gone. So on the CPU handles carry the launch's number,
//! which their safe functions check; on the GPU there is nothing to carry.

/// The launch in which a handle was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    #[cfg(not(target_arch = "nvptx64"))]
    launch: u64,
}

impl Stamp {
    /// The running launch, or none.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Self {
            #[cfg(not(target_arch = "nvptx64"))]
            launch: cuda_cpu::launch_id(),
        }
    }

    /// On the CPU, ends the launch if the handle is of another; `what` names it.
    #[inline(always)]
    pub(crate) fn check(self, what: &'static str) {
        #[cfg(not(target_arch = "nvptx64"))]
        if self.launch != cuda_cpu::launch_id() {
            stale(what);
        }
        #[cfg(target_arch = "nvptx64")]
        let _ = what;
    }
}

/// Ends the launch: the handle is not the running thread's.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub(crate) fn stale(what: &'static str) -> ! {
    cuda_cpu::fail(cuda_cpu::FaultKind::StaleHandle { what })
}
