//! A function for the debugger, and the clock.
//!
//! ```
//! use cuda_std::cpu::{Launch, launch};
//! use cuda_std::misc;
//!
//! launch(&Launch::new("timed", [1, 1, 1], [1, 1, 1]), &|| {
//!     let start = misc::clock();
//!     assert!(misc::clock() >= start);
//! })?;
//! # Ok::<(), cuda_std::cpu::Fault>(())
//! ```

/// Stops at this call if the kernel runs in a debugger. Does nothing on the CPU.
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction changes no memory. Without a debugger, the driver continues or ends
    // the launch.
    unsafe {
        core::arch::asm!("brkpt;", options(nostack));
    }
}

/// Returns the multiprocessor's clock cycles since an unspecified start, or nanoseconds on the CPU.
///
/// The difference of two readings by one thread is the time between them, including any time in
/// which the thread waited for other threads.
#[inline(always)]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles: u64;
        // SAFETY: the instruction only reads a special register. `pure` and `nomem` are omitted so
        // that the compiler does not move surrounding memory accesses across it.
        unsafe {
            core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack));
        }
        cycles
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;

        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }
}
