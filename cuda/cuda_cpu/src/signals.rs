//! Turns the signals that a kernel's thread causes into faults: SIGSEGV and SIGBUS of a stack
//! overflow or of an invalid address, and the watchdog's signal for a thread that does not end.
//!
//! The handler recognises the fiber that the OS thread is running. It makes the interrupted fiber
//! continue in [`block::stop`] on a small separate stack, which suspends the fiber for good. Every
//! other signal goes to the previously installed handler.
//!
//! The fiber's frames are never unwound, because Rust unwinds only from calls, and never freed,
//! because another OS thread may hold references into them. A stopped thread keeps the locks it
//! holds. The C library holds such locks inside `malloc`, so an invalid access inside the C library
//! prints its message and ends the process, unless the address is in the guard of a buffer: then the
//! library copies or fills memory and holds no lock. The watchdog tries again later. The handler
//! captures a backtrace, which allocates, only if it has not interrupted the C library.
//!
//! A kernel that lends borrowed memory to other OS threads (`std::thread::scope`, `rayon::join`) can
//! be stopped before they end. Therefore, the safe `launch` ends the process, and
//! `launch_stoppable` is unsafe.
//!
//! The module knows the registers of x86-64 and 64-bit ARM.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{mem, ptr, thread};

use crate::backtrace::StackTrace;
use crate::block::{self, Stop};
use crate::{memory, watchdog};

/// The size of the stack for [`block::stop`], and of the signal stack, which must suffice for
/// capturing a backtrace.
const SPARE_BYTES: usize = 64 << 10;

/// The code of a signal that the processor caused without an address.
const SI_KERNEL: c_int = 0x80;

/// The signals that are handled. The last one is the watchdog's; by default it is ignored.
const SIGNALS: [c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, WATCHDOG];

/// The signal with which the watchdog interrupts a thread.
pub(crate) const WATCHDOG: c_int = libc::SIGURG;

/// The previously installed handler of each signal in [`SIGNALS`].
static mut EARLIER: [MaybeUninit<libc::sigaction>; 3] = [const { MaybeUninit::uninit() }; 3];

/// The start and the end of the C library's code in memory.
static LIBC: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The size of a memory page in bytes.
static PAGE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SPARE: Spare = Spare::new();
    /// The end of the spare stack, or 0 before [`prepare`] was called on the OS thread.
    static SPARE_END: Cell<usize> = const { Cell::new(0) };
    /// The block to stop, and the reason; set by the handler for [`redirected`].
    static STOPPED: Cell<Option<Stopped>> = const { Cell::new(None) };
}

/// A block to stop, the reason, and the stack of its running thread.
type Stopped = (*const block::Block<'static>, Stop, StackTrace);

/// The memory for handling a signal on one OS thread.
struct Spare {
    _stack: Box<[MaybeUninit<u128>]>,
    _signal_stack: Box<[MaybeUninit<u128>]>,
    /// The signal stack that the OS thread had before.
    earlier: libc::stack_t,
}

/// No signal stack.
const DISABLED: libc::stack_t =
    libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SPARE_BYTES };

impl Spare {
    fn new() -> Self {
        let stack = Box::new_uninit_slice(SPARE_BYTES / size_of::<u128>());
        SPARE_END.set(stack.as_ptr_range().end.addr());
        let mut memory = Box::new_uninit_slice(SPARE_BYTES / size_of::<u128>());
        let own =
            libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: SPARE_BYTES };
        let mut earlier = DISABLED;
        // SAFETY: the memory lives until `drop` restores the earlier stack on the same OS thread.
        unsafe { libc::sigaltstack(&raw const own, &raw mut earlier) };
        Self { _stack: stack, _signal_stack: memory, earlier }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        SPARE_END.set(0);
        // SAFETY: the OS thread is ending, and its signal stack is the one that `new` installed.
        unsafe { libc::sigaltstack(&raw const self.earlier, ptr::null_mut()) };
    }
}

/// Prepares this OS thread, so that signals on it become faults.
#[inline]
pub(crate) fn prepare() {
    if SPARE_END.get() == 0 {
        prepare_thread();
    }
}

#[cold]
fn prepare_thread() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    // `try_with` fails while thread-local destructors run. A signal then takes its usual course.
    let _ = SPARE.try_with(|_| ());
}

fn install() {
    // SAFETY: `sysconf` reads a constant, and `find_libc` obeys the contract of `dl_iterate_phdr`.
    // `on_signal` obeys the rules for signal handlers, and `EARLIER` is written before it can read
    // it.
    unsafe {
        PAGE.store(libc::sysconf(libc::_SC_PAGESIZE) as usize, Relaxed);
        libc::dl_iterate_phdr(Some(find_libc), ptr::null_mut());
        for (i, signal) in SIGNALS.into_iter().enumerate() {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(signal, ptr::null(), (&raw mut EARLIER[i]).cast());
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Stores the address range of the segment that contains `malloc`. Returns 1 to end the search, or
/// 0 to continue it.
///
/// # Safety
/// The caller must be `dl_iterate_phdr`.
unsafe extern "C" fn find_libc(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    let malloc = libc::malloc as *const () as usize;
    // SAFETY: the loader passes a valid description of a loaded object, with `dlpi_phnum` headers.
    let (base, headers) = unsafe {
        let info = &*info;
        (info.dlpi_addr, std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
    };
    for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD) {
        let start = (base + header.p_vaddr) as usize;
        let end = start + header.p_memsz as usize;
        if (start..end).contains(&malloc) {
            LIBC[0].store(start, Relaxed);
            LIBC[1].store(end, Relaxed);
            return 1;
        }
    }
    0
}

/// Handles a signal: redirects the interrupted fiber, or calls the earlier handler.
///
/// # Safety
/// The caller must be the operating system, delivering one of [`SIGNALS`].
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the operating system passes the address and the interrupted thread's registers.
    // `EARLIER` was written before this handler was installed, and the earlier handler gets the
    // arguments that its flags promise.
    unsafe {
        let spare = SPARE_END.get();
        let registers = &mut *context.cast::<libc::ucontext_t>();
        if spare != 0
            && let Some((block, stop)) = cause(signal, info, registers)
        {
            let [start, end] = [0, 1].map(|i| LIBC[i].load(Relaxed));
            let in_libc = (start..end).contains(&instruction(registers));
            if stop == Stop::Endless && (in_libc || block::is_uninterrupted(block)) {
                // The watchdog sends the signal again.
                return;
            }
            if in_libc && !is_copy(stop) {
                block::abort_on_stop(&*block, stop, "inside the C library");
            }
            // A panic prints backtraces under a lock, which the thread may hold.
            let trace =
                if thread::panicking() { StackTrace::unknown() } else { StackTrace::capture() };
            STOPPED.set(Some((block, stop, trace)));
            redirect(registers, redirected as *const () as usize, spare);
            return;
        }
        forward(signal, info, context);
    }
}

/// Returns whether the C library can only be copying or filling memory of the kernel, so that it
/// holds no lock: the address belongs to a guard of device memory.
fn is_copy(stop: Stop) -> bool {
    matches!(stop, Stop::InvalidAddress(Some(address)) if memory::is_guard(address))
}

/// Returns the block whose thread caused the signal, and the fault; `None` for other signals.
///
/// # Safety
/// The arguments must be those of the handler.
unsafe fn cause(
    signal: c_int,
    info: *mut libc::siginfo_t,
    registers: &libc::ucontext_t,
) -> Option<(*const block::Block<'static>, Stop)> {
    if signal == WATCHDOG {
        let block = block::running(stack_pointer(registers))?;
        return watchdog::is_overdue().then_some((block, Stop::Endless));
    }
    // SAFETY: for these signals, the operating system passes the address.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some(block) = block::overflowing(address, PAGE.load(Relaxed)) {
        return Some((block, Stop::Overflow));
    }
    // SAFETY: as above. Another process may also send the signal; its code is then not positive.
    let code = unsafe { (*info).si_code };
    let block = block::running(stack_pointer(registers)).filter(|_| code > 0)?;
    // The processor does not tell an address that no pointer can have.
    let address = Some(address).filter(|_| code != SI_KERNEL);
    Some((block, Stop::InvalidAddress(address)))
}

/// Calls the handler that was installed before.
///
/// # Safety
/// The arguments must be those of the handler.
unsafe fn forward(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(i) = SIGNALS.iter().position(|known| *known == signal) else { return };
    // SAFETY: `EARLIER` was written before the handler was installed. The earlier handler gets the
    // arguments that its flags promise.
    unsafe {
        let earlier = *(&raw const EARLIER[i]).cast::<libc::sigaction>();
        match earlier.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN if signal == WATCHDOG => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                // After this handler returns, the access faults again, and the default action ends
                // the process.
                let mut default: libc::sigaction = mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, ptr::null_mut());
            }
            handler if earlier.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                mem::transmute::<usize, Handler>(handler)(signal, info, context);
            }
            handler => mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(signal),
        }
    }
}

/// Runs instead of an interrupted thread, on the spare stack.
extern "C" fn redirected() -> ! {
    match STOPPED.take() {
        // SAFETY: the handler has just found the block on this OS thread.
        Some((block, stop, trace)) => unsafe { block::stop(block, stop, trace) },
        None => std::process::abort(),
    }
}

/// Returns the interrupted thread's stack pointer.
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    #[cfg(target_arch = "x86_64")]
    return context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.uc_mcontext.sp as usize;
}

/// Returns the address of the interrupted instruction.
fn instruction(context: &libc::ucontext_t) -> usize {
    #[cfg(target_arch = "x86_64")]
    return context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.uc_mcontext.pc as usize;
}

/// Makes the interrupted thread call `function` on the stack that ends at `stack`, which must be
/// 16-byte aligned.
fn redirect(context: &mut libc::ucontext_t, function: usize, stack: usize) {
    let registers = &mut context.uc_mcontext;
    #[cfg(target_arch = "x86_64")]
    {
        // A call instruction would have pushed an 8-byte return address, and `function` expects the
        // stack pointer at this offset.
        registers.gregs[libc::REG_RSP as usize] = (stack - 8) as i64;
        registers.gregs[libc::REG_RBP as usize] = 0;
        registers.gregs[libc::REG_RIP as usize] = function as i64;
    }
    #[cfg(target_arch = "aarch64")]
    {
        registers.sp = stack as u64;
        // Frame pointer and return address.
        registers.regs[29] = 0;
        registers.regs[30] = 0;
        registers.pc = function as u64;
    }
}

/// Writes to stderr without allocating or locking.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    struct Stderr;
    impl Write for Stderr {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            // SAFETY: `text` is valid for `text.len()` bytes.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
            Ok(())
        }
    }
    let _ = Stderr.write_fmt(text);
}
