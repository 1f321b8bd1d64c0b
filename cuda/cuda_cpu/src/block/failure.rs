//! Functions that record the fault of a block, unwind its threads, and turn panics and stack
//! overflows into faults.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::sync::Once;
use std::{env, mem, process, thread};

use corosensei::trap::CoroutineTrapHandler;

use super::current::{pointer, running as current};
use super::{Block, Stop};
use crate::backtrace::StackTrace;
use crate::fault::{Fault, FaultKind, ThreadId, text_of};
use crate::memory;
use crate::stacks::stack_bytes;

/// The messages of rustc's checks of raw pointers. These panics end the process instead of
/// unwinding, so no launch returns them.
const ENDING: [&str; 3] = [
    "misaligned pointer dereference",
    "null pointer dereference",
    "unsafe precondition(s) violated",
];

/// The panic payload that unwinds the threads of a failed block.
struct Unwind;

impl Block<'_> {
    /// Records the reason why a thread was stopped, which may have interrupted the recording of
    /// another fault.
    #[cold]
    pub(super) fn note_stop(&self, stop: Stop, trace: &StackTrace) {
        self.has_failed.set(true);
        if trace.is_printing() {
            // The thread holds the lock of stdout or stderr forever, so the next thread that prints
            // would hang.
            abort_on_stop(self, stop, "while it prints");
        }
        let fault = self.fault.take();
        let fault = fault.unwrap_or_else(|| self.fault_of(self.stop_kind(stop, trace.place())));
        self.fault.set(Some(fault));
    }

    fn stop_kind(&self, stop: Stop, place: Option<String>) -> FaultKind {
        let last = self.last.get();
        match stop {
            Stop::Overflow => FaultKind::StackOverflow { bytes: stack_bytes(), place, last },
            Stop::InvalidAddress(address) => {
                let near = address.and_then(memory::near);
                FaultKind::InvalidAddress { address, near, place, last }
            }
            Stop::Endless => {
                let limit = self.launch.checks.limit.unwrap_or_default();
                FaultKind::Endless { limit, place, last, other: None }
            }
        }
    }

    /// Handles a wait during unwinding or after a fault. If the thread is unwinding, records a
    /// fault. Otherwise, unwinds the thread, because its block has failed.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse_wait(&self, place: &'static Location<'static>) {
        if thread::panicking() {
            // The thread is in a destructor, which must not unwind, so it continues. The recorded
            // fault ends the block.
            self.record(FaultKind::WaitInUnwinding { place });
        } else {
            panic::resume_unwind(Box::new(Unwind));
        }
    }

    fn thread_id(&self) -> ThreadId {
        ThreadId { block: self.index, thread: self.thread.get() }
    }

    /// Makes the block fail with a fault of the running thread, unless the block has failed before.
    pub(super) fn record(&self, kind: FaultKind) {
        if self.has_failed.replace(true) {
            return;
        }
        let unwritten = match (&kind, self.shared.try_borrow_mut()) {
            (FaultKind::SharedRace { .. }, _) | (_, Err(_)) => None,
            (_, Ok(mut shared)) => shared.take_unwritten(),
        };
        let kind = match unwritten {
            // The value that the thread has read is the likely cause of its fault.
            Some((thread, unwritten)) if thread == self.rank.get() => unwritten,
            _ => kind,
        };
        self.fault.set(Some(self.fault_of(kind)));
    }

    fn fault_of(&self, kind: FaultKind) -> Fault {
        Fault { kernel: self.launch.kernel, at: self.thread_id(), kind }
    }

    /// Records the panic that ended a thread, unless the block has failed for another reason.
    pub(super) fn unwound(&self, payload: Box<dyn Any + Send>) {
        let fault = self.fault.take();
        if self.is_cancelled.get() && fault.is_none() && payload.is::<Unwind>() {
            return;
        }
        let is_own = |fault: &Fault| {
            matches!(fault.kind, FaultKind::WaitInUnwinding { .. })
                && fault.at == self.thread_id()
                && !payload.is::<Unwind>()
        };
        if fault.as_ref().is_none_or(is_own) {
            // A wait during unwinding was only a consequence of this panic, so the panic replaces
            // that fault.
            self.has_failed.set(false);
            let text = text_of(&*payload);
            let noted = self.panic.take().filter(|(_, [noted, _])| *noted == text);
            self.record(FaultKind::Panic { text, place: noted.map(|(_, [_, place])| place) });
        } else {
            self.fault.set(fault);
        }
        self.panic.take();
        // The payload's destructor is kernel code and may panic, too.
        let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
        mem::forget(dropped);
    }
}

/// Installs the panic hook, once. It turns a kernel's panic into a fault with text and position
/// instead of a message on stderr; only a panic hook gets the position of a panic.
///
/// The hook forwards panics outside kernels to the program's hook. It forwards a kernel's panic only
/// if `RUST_BACKTRACE` requests a backtrace, or if the thread panics again while it unwinds, which
/// ends the process.
pub(crate) fn install_panic_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let backtrace = env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note_panic(info) || backtrace || cfg!(panic = "abort") {
                earlier(info);
            }
        }));
    });
}

/// Stores a panic of a kernel. Returns whether the launch will return the panic as a fault, so that
/// the panic need not be printed.
fn note_panic(info: &PanicHookInfo<'_>) -> bool {
    let Some(block) = current().filter(|block| block.stack.get().is_some()) else { return false };
    let text = info.payload_as_str().unwrap_or("a payload that is not a string").to_owned();
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    if ENDING.iter().any(|start| text.starts_with(start)) {
        // The position is part of rustc's own message, which follows.
        eprintln!("{}", block.fault_of(FaultKind::Panic { text, place: Some(place) }));
        return false;
    }
    let rank = block.rank.get();
    let earlier = block.panic.replace(Some((rank, [text, place])));
    // A second panic of a thread during unwinding ends the process, so both are printed.
    if let Some((_, [text, place])) = earlier.filter(|(earlier, _)| *earlier == rank) {
        eprintln!("{}", block.fault_of(FaultKind::Panic { text, place: Some(place) }));
        return false;
    }
    true
}

/// Returns the block of this OS thread that runs on the fiber whose guard page contains `address`,
/// if any. `guard` is the size of a guard page.
///
/// The function does not allocate or lock, because a signal handler calls it.
pub(crate) fn overflowing(address: usize, guard: usize) -> Option<*const Block<'static>> {
    find(|stack| stack.stack_ptr_in_bounds(address) && !stack.stack_ptr_in_bounds(address - guard))
}

/// Returns the block of this OS thread that runs on the fiber whose stack contains `stack_pointer`,
/// if any.
///
/// The caller is a signal handler.
pub(crate) fn running(stack_pointer: usize) -> Option<*const Block<'static>> {
    find(|stack| stack.stack_ptr_in_bounds(stack_pointer))
}

/// Returns whether the watchdog must not stop the running thread of `block` now.
///
/// # Safety
/// [`running`] must have just returned `block` on this OS thread.
pub(crate) unsafe fn is_uninterrupted(block: *const Block<'static>) -> bool {
    // SAFETY: the `run` that owns the block has not returned.
    unsafe { &*block }.is_uninterrupted.get()
}

/// Returns the block of this OS thread whose running fiber has a stack that `is_it` accepts.
fn find(is_it: impl Fn(CoroutineTrapHandler<()>) -> bool) -> Option<*const Block<'static>> {
    let mut block = pointer();
    // SAFETY: the pointer is null, or a caller on this stack is the `run` that owns the block. The
    // same is true of `outer`.
    while let Some(at) = unsafe { block.as_ref() } {
        if at.stack.get().is_some_and(&is_it) {
            return Some(block);
        }
        block = at.outer;
    }
    None
}

/// Runs on a spare stack instead of the running thread of `block`, which a signal has interrupted.
/// Suspends that thread for good.
///
/// # Safety
/// [`overflowing`] or [`running`] must have just returned `block` on this OS thread.
pub(crate) unsafe fn stop(block: *const Block<'static>, stop: Stop, trace: StackTrace) -> ! {
    // SAFETY: the `run` that owns the block has not returned.
    let block = unsafe { &*block };
    // The current block may be nested in `block`. The nested block has then stopped for good,
    // together with the thread.
    block.make_current();
    if thread::panicking() {
        // The thread would remain partly unwound, and its OS thread would count as panicking
        // forever.
        abort_on_stop(block, stop, "while it unwinds");
    }
    block.stopped.set(Some((stop, trace)));
    // SAFETY: the yielder belongs to the running fiber and is on its stack, as in `wait`.
    unsafe { &*block.yielder.get() }.suspend(());
    process::abort()
}

/// Prints a stop that cannot be returned as a fault, and ends the process.
///
/// The caller may be a signal handler, so it does not allocate.
pub(crate) fn abort_on_stop(block: &Block<'_>, stop: Stop, when: &str) -> ! {
    let kernel = block.launch.kernel;
    let at = block.thread_id();
    let kind = match stop {
        // Looking for the nearest allocation would take a lock.
        Stop::InvalidAddress(address) => {
            FaultKind::InvalidAddress { address, near: None, place: None, last: block.last.get() }
        }
        other => block.stop_kind(other, None),
    };
    crate::signals::print(format_args!("fatal: kernel `{kernel}`, {at}, {when}: {kind}\n"));
    process::abort()
}

/// Ends the launch with a fault at the running thread.
///
/// The fault is recorded at once, so a kernel that catches the unwinding cannot undo it. In a
/// destructor during unwinding, Rust ends the process; the fault is printed to stderr first.
///
/// # Panics
/// Panics outside a launch, with the text of `kind`.
#[cold]
pub fn fail(kind: FaultKind) -> ! {
    let Some(block) = current() else { panic!("outside a kernel launch: {kind}") };
    if thread::panicking() || cfg!(panic = "abort") {
        eprintln!("fatal: {}", block.fault_of(kind.clone()));
    }
    block.record(kind);
    // Unlike `panic!`, `resume_unwind` does not call the panic hook. The launch returns the fault
    // as a value, so nothing must be printed.
    panic::resume_unwind(Box::new(Unwind))
}
