//! Functions for the debugger and the profiler, and the clock.
//!
//! ```
//! use cuda_std::cpu::{Launch, launch};
//! use cuda_std::misc;
//!
//! launch(&Launch::new("timed", [1, 1, 1], [1, 1, 1]), &|| {
//!     let start = misc::clock();
//!     misc::profiler_counter(0);
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

/// Adds one event to the profiler counter `counter` for the warp. Does nothing on the CPU.
///
/// # Panics
/// Panics if `counter` is greater than 7.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "a profiler counter must be in 0..=7");
    #[cfg(target_arch = "nvptx64")]
    {
        // The instruction takes only a constant operand, so each counter needs its own instruction.
        macro_rules! count {
            ($($number:literal)+) => {
                match counter {
                    $(
                        // SAFETY: the instruction only triggers a profiler event.
                        $number => unsafe {
                            core::arch::asm!(concat!("pmevent ", $number, ";"), options(nostack));
                        },
                    )+
                    _ => {}
                }
            };
        }
        count!(0 1 2 3 4 5 6 7);
    }
}

/// Returns the multiprocessor's clock cycles since an unspecified start, or nanoseconds on the CPU.
///
/// The difference of two readings by one thread is the time between them, including any time in
/// which the thread waited for other threads.
#[inline(always)]
#[must_use]
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
