//! The launch that a handle belongs to.
//!
//! On the GPU, a handle cannot outlive its launch. On the CPU, a kernel can store one in a static,
//! and safe code could then use it after the memory is freed. Therefore handles carry the launch's
//! number on the CPU, and their safe functions check it. On the GPU, the stamp is empty.

/// The launch in which a handle was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    #[cfg(not(target_arch = "nvptx64"))]
    launch: u64,
}

impl Stamp {
    /// Returns the stamp of the running launch, or of no launch on the host.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Self {
            #[cfg(not(target_arch = "nvptx64"))]
            launch: cuda_cpu::launch_id(),
        }
    }

    /// On the CPU, ends the launch if the handle belongs to another one. `what` names the handle.
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

/// Ends the launch with a fault, because the running thread uses another launch's or thread's
/// handle.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub(crate) fn stale(what: &'static str) -> ! {
    cuda_cpu::fail(cuda_cpu::FaultKind::StaleHandle { what })
}
