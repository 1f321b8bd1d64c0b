//! Ends kernels that do not end.
//!
//! A monitor thread looks at each OS thread that runs blocks. If the OS thread has used more CPU
//! time than the launch's [limit](crate::Checks::limit) without resuming a fiber, the running kernel
//! thread is in an endless loop. The monitor then interrupts the OS thread with a signal, whose
//! handler stops the kernel thread. CPU time, unlike wall time, does not advance while the process
//! is suspended or waits for a core.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::signals::WATCHDOG;

/// The shortest and the longest time between two looks.
const INTERVAL: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(500)];

/// The id of an OS thread. With musl, `pthread_t` is a pointer, which is neither `Send` nor `Sync`.
#[derive(Clone, Copy)]
struct Thread(libc::pthread_t);

// SAFETY: the id is never dereferenced here. pthread functions accept the id of any thread that exists.
unsafe impl Send for Thread {}
// SAFETY: see above.
unsafe impl Sync for Thread {}

impl Thread {
    fn current() -> Self {
        // SAFETY: the call has no preconditions.
        Self(unsafe { libc::pthread_self() })
    }
}

/// An OS thread that runs blocks.
struct Worker {
    thread: Thread,
    /// Changes whenever the OS thread resumes a fiber.
    progress: AtomicU64,
    /// The limit of the running block in milliseconds, 0 for none.
    limit: AtomicU64,
    /// Whether the running fiber has used more CPU time than the limit.
    is_overdue: AtomicBool,
}

/// A worker, and the last progress that the monitor saw.
struct Watched {
    worker: Arc<Worker>,
    progress: u64,
    /// The CPU time of the OS thread when the progress last changed.
    since: Duration,
}

#[derive(Default)]
struct State {
    workers: Vec<Watched>,
    /// The number of running launches with a limit.
    launches: usize,
}

static STATE: Mutex<State> = Mutex::new(State { workers: Vec::new(), launches: 0 });
static BEGUN: Condvar = Condvar::new();

/// The worker of an OS thread. Its drop removes it from the list, while the OS thread still exists.
struct Registered(Arc<Worker>);

impl Registered {
    fn new() -> Self {
        let worker = Arc::new(Worker {
            thread: Thread::current(),
            progress: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            is_overdue: AtomicBool::new(false),
        });
        let watched = Watched { worker: worker.clone(), progress: 0, since: Duration::ZERO };
        state().workers.push(watched);
        WORKER.set(Arc::as_ptr(&worker));
        Self(worker)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        WORKER.set(ptr::null());
        state().workers.retain(|watched| !Arc::ptr_eq(&watched.worker, &self.0));
    }
}

thread_local! {
    static REGISTERED: Registered = Registered::new();
    /// The worker of this OS thread, or null before its first block with a limit.
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the worker of this OS thread, if it has one.
#[inline]
fn worker<'a>() -> Option<&'a Worker> {
    // SAFETY: the pointer is null, or `REGISTERED` of this OS thread owns the worker. No caller
    // returns the reference.
    unsafe { WORKER.get().as_ref() }
}

/// A running launch. The monitor looks at the workers while one exists.
pub(crate) struct Watch(());

impl Watch {
    /// Starts watching a launch, if it has a limit.
    pub(crate) fn new(limit: Option<Duration>) -> Option<Self> {
        static MONITOR: Once = Once::new();
        limit?;
        MONITOR.call_once(|| {
            let name = "cuda_cpu watchdog".to_owned();
            // Without the monitor, an endless loop does not end.
            let _ = thread::Builder::new().name(name).spawn(monitor);
        });
        let mut state = state();
        state.launches += 1;
        if state.launches == 1 {
            BEGUN.notify_one();
        }
        Some(Self(()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        state().launches -= 1;
    }
}

/// A running block with a limit. Its drop restores the limit of the block around it.
pub(crate) struct Limit {
    earlier: u64,
}

impl Limit {
    /// Sets the limit of the block that this OS thread starts.
    pub(crate) fn new(limit: Option<Duration>) -> Option<Self> {
        let limit = limit?;
        if WORKER.get().is_null() {
            // `try_with` fails while thread-local destructors run; the block is then not watched.
            let _ = REGISTERED.try_with(|_| ());
        }
        let worker = worker()?;
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
        Some(Self { earlier: worker.limit.swap(limit, Relaxed) })
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Some(worker) = worker() {
            worker.limit.store(self.earlier, Relaxed);
            note_progress();
        }
    }
}

/// Records that this OS thread resumes a fiber.
#[inline]
pub(crate) fn note_progress() {
    if let Some(worker) = worker() {
        // No other thread writes the number.
        worker.progress.store(worker.progress.load(Relaxed).wrapping_add(1), Relaxed);
        worker.is_overdue.store(false, Relaxed);
    }
}

/// Returns whether the fiber that this OS thread runs has exceeded its limit.
///
/// The caller is a signal handler.
pub(crate) fn is_overdue() -> bool {
    worker().is_some_and(|worker| worker.is_overdue.load(Relaxed))
}

fn monitor() {
    let mut state = state();
    loop {
        while state.launches == 0 {
            state = BEGUN.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut interval = INTERVAL[1];
        for watched in &mut state.workers {
            if let Some(limit) = watched.look() {
                interval = interval.min(limit / 8);
            }
        }
        drop(state);
        thread::sleep(interval.max(INTERVAL[0]));
        state = self::state();
    }
}

impl Watched {
    /// Interrupts the worker if it has exceeded its limit. Returns the limit, if there is one.
    fn look(&mut self) -> Option<Duration> {
        let worker = &self.worker;
        let limit = match worker.limit.load(Relaxed) {
            0 => return None,
            limit => Duration::from_millis(limit),
        };
        let (progress, used) = (worker.progress.load(Relaxed), cpu_time_of(worker.thread));
        if progress != self.progress {
            (self.progress, self.since) = (progress, used);
        } else if used.saturating_sub(self.since) > limit {
            worker.is_overdue.store(true, Relaxed);
            // SAFETY: the OS thread exists, because it removes itself from the list, which is
            // locked, before it ends.
            unsafe { libc::pthread_kill(worker.thread.0, WATCHDOG) };
        }
        Some(limit)
    }
}

/// Returns the CPU time that the calling OS thread has used.
pub(crate) fn cpu_time() -> Duration {
    cpu_time_of(Thread::current())
}

/// Returns the CPU time that an existing OS thread has used, or 0 if the system cannot tell.
fn cpu_time_of(thread: Thread) -> Duration {
    let (mut clock, mut time) = (0, MaybeUninit::<libc::timespec>::uninit());
    // SAFETY: the OS thread exists, and the pointers are valid. A call that succeeds writes `time`.
    let time = unsafe {
        if libc::pthread_getcpuclockid(thread.0, &raw mut clock) != 0
            || libc::clock_gettime(clock, time.as_mut_ptr()) != 0
        {
            return Duration::ZERO;
        }
        time.assume_init()
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
