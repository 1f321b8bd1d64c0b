//! Limits on the time and memory that an input may take.
//!
//! Time is the CPU time of the process, so that other load does not fail a test. libFuzzer's `-timeout` finds inputs
//! that wait for ever. Memory is first counted as allocated bytes, which costs nothing. An input that exceeds a limit
//! runs again, and only the second run counts: the first one may have created what a process creates once, and pages
//! that are allocated but not written take no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Target;

/// The maximum CPU time for an input.
const TIME: Duration = Duration::from_secs(1);

/// The maximum number of bytes that an input may take at once.
const MEMORY: usize = 256 << 20;

/// Runs `target` on `data`.
///
/// # Panics
/// Panics if the target panics, takes more than a second of CPU time, or more than 256 MiB of memory.
pub fn check(target: Target, data: &[u8]) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let time = time_of(target, data);
    let memory = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    if time <= TIME && memory <= MEMORY {
        return;
    }
    let (time, memory) = resident(|| time_of(target, data));
    let (name, bytes) = (target.name, data.len());
    assert!(time <= TIME, "{name}: an input of {bytes} bytes took {time:?}");
    assert!(memory <= MEMORY, "{name}: an input of {bytes} bytes took {} MiB", memory >> 20);
}

/// Runs `target` on `data` and returns the CPU time.
fn time_of(target: Target, data: &[u8]) -> Duration {
    let start = cpu_time();
    (target.run)(data);
    cpu_time().saturating_sub(start)
}

/// Returns the result of `run`, and by how many bytes the resident memory grows at most while it runs. Only Linux tells
/// it.
fn resident<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let status = |key: &str| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let number = line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>();
        number.map_or(0, |kibibytes| kibibytes << 10)
    };
    // Sets the peak to the current value.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    let result = run();
    (result, status("VmHWM:").saturating_sub(before))
}

/// Returns the CPU time that all threads of the process have used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The number of allocated bytes.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The largest value of [`LIVE`] since the last input began.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counters.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    fn add(&self, bytes: usize) {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

// SAFETY: each method passes its arguments to `System` and returns its result unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, as in the calls below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        self.add(size);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
