//! The debugger, the profiler and the clock.

/// Stops at this place where a debugger runs the kernel. Does nothing on the CPU.
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: without a debugger the driver continues or ends the launch; memory stays as it is.
    unsafe {
        core::arch::asm!("brkpt;", options(nostack));
    }
}

/// Counts one event of the profiler's counter `counter` for the warp. Does nothing on the CPU.
///
/// # Panics
/// If `counter` is over 7.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "a profiler counter must be in 0..=7");
    #[cfg(target_arch = "nvptx64")]
    {
        // The instruction takes a constant alone.
        macro_rules! count {
            ($($number:literal)+) => {
                match counter {
                    $(
                        // SAFETY: counts, nothing else.
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

/// Clock cycles of the multiprocessor since some moment; on the CPU nanoseconds.
///
/// The difference of two readings by one thread is the time between them, which the thread may have
/// spent waiting for others.
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles: u64;
        // SAFETY: reads a special register. Without `pure` and `nomem` it stays between the accesses
        // that stand around it.
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
