//! The launch that a handle belongs to. A handle is a slice, view or texture that a kernel takes as
//! an argument, or an index from [`unique_1d`](crate::thread::unique_1d).
//!
//! On the GPU, a handle cannot outlive its launch. On the CPU, a kernel can store a handle in a
//! static, and safe code could then use the handle after its memory is freed. Therefore, on the CPU
//! each handle contains the id of its launch, and the handle's safe functions compare it with the
//! id of the running launch. On the GPU, the stamp is empty.

/// The launch in which a handle was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    #[cfg(not(target_arch = "nvptx64"))]
    launch: u64,
}

impl Stamp {
    /// Returns the stamp of the running launch. Outside a launch, returns a stamp that belongs to
    /// no launch.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Self {
            #[cfg(not(target_arch = "nvptx64"))]
            launch: cuda_cpu::launch_id(),
        }
    }

    /// On the CPU, ends the running launch with a fault if the handle belongs to another launch.
    /// `what` is the handle's name in the fault.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn check(self, what: &'static str) {
        #[cfg(not(target_arch = "nvptx64"))]
        if self.launch != cuda_cpu::launch_id() {
            stale(what);
        }
        #[cfg(target_arch = "nvptx64")]
        let _ = what;
    }
}

/// Ends the launch with a fault, because the running thread uses a handle of another launch or
/// another thread.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
#[track_caller]
pub(crate) fn stale(what: &'static str) -> ! {
    let place = core::panic::Location::caller();
    cuda_cpu::fail(cuda_cpu::FaultKind::StaleHandle { what, place })
}
