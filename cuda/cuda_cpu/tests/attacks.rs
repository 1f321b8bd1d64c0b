//! Runs safe kernels that try to break the simulator. The launch must return a fault, or the
//! process must end with a clear message.
//!
//! Attacks that end the process run in a child process: [`alone`] starts this test executable again
//! for one test.

use std::cell::{Cell, RefCell};
use std::env;
use std::hint::black_box;
use std::panic::{self, AssertUnwindSafe, Location, catch_unwind, panic_any};
use std::process::{Command, Output};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use cuda_cpu::{
    AccessKind, Checks, Fault, FaultKind, Launch, SharedRegion, WarpOp, fail, launch,
    launch_stoppable, memory, set_stack_bytes, shared_access, shared_static, stack_bytes,
    sync_threads, thread_idx, thread_rank, warp_exchange,
};

fn run(blocks: u32, threads: u32, thread: impl Fn() + Sync) -> Result<(), Fault> {
    checked(Checks::BUILD, [blocks, 1, 1], [threads, 1, 1], thread)
}

/// Runs a kernel with a limit of half a second.
fn limited(blocks: u32, threads: u32, thread: impl Fn() + Sync) -> Result<(), Fault> {
    let checks = Checks { limit: Some(Duration::from_millis(500)), ..Checks::BUILD };
    checked(checks, [blocks, 1, 1], [threads, 1, 1], thread)
}

fn checked(
    checks: Checks,
    grid: [u32; 3],
    block: [u32; 3],
    thread: impl Fn() + Sync,
) -> Result<(), Fault> {
    let checks = Checks { shared: true, ..checks };
    let launch = Launch { checks, ..Launch::new("attack", grid, block) };
    // SAFETY: no test lends memory to other OS threads beyond the launch.
    unsafe { launch_stoppable(&launch, &|threads| threads.each(&thread)) }
}

#[track_caller]
fn trap() -> ! {
    fail(FaultKind::Trap { place: Location::caller() })
}

fn is_trap(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Trap { .. })
}

/// Calls `f` when dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Uses about `bytes` bytes of the stack, in small frames.
#[inline(never)]
fn recurse(bytes: usize) -> u64 {
    let frame = black_box([bytes as u64; 16]);
    let rest = if bytes > 256 { recurse(bytes - 256) } else { 0 };
    rest + black_box(frame)[3]
}

/// Runs the test `test` of this executable in a child process, which calls `attack`. Returns the
/// child's output, or `None` in the child itself.
#[track_caller]
fn alone(test: &str, environment: &[(&str, &str)], attack: fn()) -> Option<Output> {
    const MARK: &str = "CUDA_CPU_ATTACK";
    if env::var_os(MARK).is_some() {
        attack();
        return None;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, "1");
    command.env_remove("RUST_BACKTRACE").envs(environment.iter().copied());
    Some(command.output().unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const ENDLESS: usize = usize::MAX;

#[test]
fn a_stack_overflow_is_a_fault() {
    for round in 0..20 {
        let fault = run(4, 64, || {
            sync_threads();
            if cuda_cpu::block_idx()[0] == 2 && thread_rank() == 40 {
                black_box(recurse(ENDLESS));
            }
            sync_threads();
        })
        .unwrap_err();
        assert!(matches!(fault.kind, FaultKind::StackOverflow { .. }), "{fault}");
        assert_eq!((fault.at.block[0], fault.at.thread[0]), (2, 40), "round {round}");
        assert!(fault.to_string().contains("set_stack_bytes"), "{fault}");
        run(4, 64, sync_threads).unwrap();
    }
}

/// A thread that borrows the caller's data would still run if the launch returned.
#[test]
fn an_overflow_in_a_safe_launch_ends_the_process() {
    let Some(output) = alone("an_overflow_in_a_safe_launch_ends_the_process", &[], || {
        let text = String::from("borrowed");
        let _ = launch(&Launch::new("lends", [1, 1, 1], [1, 1, 1]), &|| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    loop {
                        black_box(text.len());
                    }
                });
                black_box(recurse(ENDLESS));
            });
        });
        eprintln!("the launch returned");
    }) else {
        return;
    };
    let text = text(&output);
    assert!(!output.status.success() && !text.contains("the launch returned"), "{text}");
    assert!(text.contains("overflow") && text.contains("`launch_stoppable`"), "{text}");
}

#[test]
fn a_large_array_overflows_too() {
    let fault = run(2, 1, || {
        black_box([1_u8; 24 << 20]);
    });
    assert!(matches!(fault.unwrap_err().kind, FaultKind::StackOverflow { .. }));
}

/// Thread 50 of 96 overflows its stack. All other threads must drop their values. The value of
/// thread 50 is never dropped.
#[test]
fn an_overflow_unwinds_the_other_threads() {
    let live = AtomicU32::new(0);
    let fault = run(1, 96, || {
        live.fetch_add(1, Relaxed);
        let _own = OnDrop(|| {
            live.fetch_sub(1, Relaxed);
        });
        sync_threads();
        if thread_rank() == 50 {
            black_box(recurse(ENDLESS));
        }
        sync_threads();
    });
    assert!(matches!(fault.unwrap_err().kind, FaultKind::StackOverflow { .. }));
    assert_eq!(live.load(Relaxed), 1);
}

#[test]
fn an_overflow_in_a_launch_within_a_launch_is_the_inner_ones() {
    run(2, 3, || {
        let fault = run(1, 33, || {
            black_box(recurse(ENDLESS));
        });
        assert!(matches!(fault.unwrap_err().kind, FaultKind::StackOverflow { .. }));
        sync_threads();
    })
    .unwrap();
}

#[test]
fn stacks_can_be_made_larger() {
    assert!(stack_bytes() >= 1 << 20);
    set_stack_bytes(8 << 20);
    run(2, 64, || {
        sync_threads();
        black_box(recurse(6 << 20));
    })
    .unwrap();
    assert_eq!(stack_bytes(), 8 << 20);
}

/// An OS thread that Rust did not create has no signal stack. A stack overflow in its launch must
/// still be a fault.
#[test]
fn an_overflow_on_a_foreign_thread_is_a_fault() {
    extern "C" fn body(_: *mut libc::c_void) -> *mut libc::c_void {
        let fault = run(1, 4, || {
            black_box(recurse(ENDLESS));
        });
        usize::from(matches!(fault.unwrap_err().kind, FaultKind::StackOverflow { .. })) as _
    }
    let mut result = std::ptr::null_mut();
    // SAFETY: the thread is joined before `thread` and `result` go out of scope.
    unsafe {
        let mut thread = std::mem::zeroed();
        libc::pthread_create(&raw mut thread, std::ptr::null(), body, std::ptr::null_mut());
        libc::pthread_join(thread, &raw mut result);
    }
    assert_eq!(result.addr(), 1);
}

/// A kernel overflows its stack while it allocates. The C library holds locks inside `malloc`, so
/// the process may end, but its message must name the thread and the overflow.
#[test]
fn an_overflow_that_allocates_is_named() {
    #[expect(unconditional_recursion, reason = "it must overflow")]
    fn allocate(depth: u64) -> u64 {
        let text = black_box(format!("{depth}"));
        allocate(depth + 1) + text.len() as u64
    }
    let output = alone("an_overflow_that_allocates_is_named", &[], || {
        let fault = run(1, 4, || {
            black_box(allocate(0));
        });
        eprintln!("{}", fault.unwrap_err());
    });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(text.contains("kernel `attack`, block (0,0,0) thread (0,0,0)"), "{text}");
    assert!(text.contains("stack overflow"), "{text}");
}

/// The host overflows its stack, or reads an invalid address. Neither is a fault of the kernel that
/// ran before, so the process ends as without one.
#[test]
fn the_hosts_overflow_and_access_violations_stay_what_they_are() {
    let name = "the_hosts_overflow_and_access_violations_stay_what_they_are";
    let overflow = alone(name, &[("OVERFLOW", "1")], || {
        run(2, 2, sync_threads).unwrap();
        if env::var_os("OVERFLOW").is_some() {
            black_box(recurse(ENDLESS));
        } else {
            // SAFETY: the read is invalid on purpose. It must end the process.
            unsafe { black_box(ptr::dangling::<u8>()).read_volatile() };
        }
    });
    let Some(overflow) = overflow else { return };
    assert!(text(&overflow).contains("has overflowed its stack"), "{}", text(&overflow));
    let violation = alone(name, &[], || ()).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&violation.status), Some(11));
    assert!(!text(&violation).contains("kernel"), "{}", text(&violation));
}

/// A kernel dereferences a misaligned raw pointer. rustc's check ends the process in a debug build,
/// after the simulator has named the kernel, the thread and the line.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "rustc checks pointers only in debug builds")]
fn a_misaligned_pointer_is_named() {
    let output = alone("a_misaligned_pointer_is_named", &[], || {
        let memory = [0_u64; 2];
        let _ = run(1, 4, || {
            if thread_rank() == 2 {
                // SAFETY: the address is misaligned on purpose. The check must end the process.
                black_box(unsafe { *memory.as_ptr().wrapping_byte_add(1) });
            }
        });
    });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(
        text.contains("kernel `attack`, block (0,0,0) thread (2,0,0): panic: misaligned"),
        "{text}"
    );
    assert!(text.contains("attacks.rs"), "{text}");
}

/// Thread 33 causes a fault, and destructors then wait at a barrier and in a warp exchange. The
/// launch returns the fault of thread 33.
#[test]
fn a_wait_in_drop_does_not_hide_the_fault() {
    let drops = AtomicU32::new(0);
    let fault = run(3, 70, || {
        let _own = OnDrop(|| {
            sync_threads();
            // The last warp has only six lanes, but the mask names 32.
            let word = warp_exchange(WarpOp::Exchange, u32::MAX, 7, Location::caller());
            assert_eq!(word, [7; 32]);
            drops.fetch_add(1, Relaxed);
        });
        sync_threads();
        if thread_rank() == 33 {
            trap();
        }
        sync_threads();
    })
    .unwrap_err();
    assert!(is_trap(&fault) && fault.at.thread[0] == 33, "{fault}");
    assert_eq!(drops.load(Relaxed) % 70, 0);
}

#[test]
fn a_wait_in_drop_during_a_panic_does_not_hide_the_panic() {
    let fault = run(1, 64, || {
        let _own = OnDrop(sync_threads);
        assert!(thread_rank() != 40, "planted");
    })
    .unwrap_err();
    let FaultKind::Panic { text, place: Some(_) } = fault.kind else { panic!("{fault}") };
    assert_eq!((text.as_str(), fault.at.thread[0]), ("planted", 40));
}

#[test]
fn a_wait_in_drop_during_a_caught_panic_is_a_fault() {
    let fault = run(1, 64, || {
        let _ = catch_unwind(|| {
            let _own = OnDrop(sync_threads);
            panic!("planted");
        });
        sync_threads();
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::WaitInUnwinding { .. }), "{fault}");
}

/// A kernel catches the panic of a fault and continues. The launch must still return the fault.
#[test]
fn a_fault_cannot_be_caught() {
    for wait in [true, false] {
        let fault = run(2, 48, || {
            let _ = catch_unwind(|| {
                if thread_rank() == 7 {
                    trap();
                }
            });
            if wait {
                let _ = catch_unwind(sync_threads);
                let _ = catch_unwind(sync_threads);
            }
        })
        .unwrap_err();
        assert!(is_trap(&fault) && fault.at.thread[0] == 7, "{fault}");
    }
    run(2, 48, sync_threads).unwrap();
}

/// A kernel stores the panic payload of a fault, and a later launch unwinds with it. The later
/// launch reports an ordinary panic.
#[test]
fn a_kept_payload_is_a_panic_like_any() {
    thread_local!(static KEPT: RefCell<Vec<Box<dyn std::any::Any + Send>>> = const { RefCell::new(Vec::new()) });
    run(1, 1, || {
        let payload = catch_unwind(|| trap()).unwrap_err();
        KEPT.with_borrow_mut(|kept| kept.push(payload));
    })
    .unwrap_err();
    let fault = run(1, 1, || {
        let payload = KEPT.with_borrow_mut(Vec::pop);
        if let Some(payload) = payload {
            panic::resume_unwind(payload);
        }
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Panic { place: None, .. }), "{fault}");
}

/// The watchdog ends the process, or the thread if it is not unwinding at that moment.
#[test]
fn a_thread_that_never_stops_catching_ends() {
    let output = alone("a_thread_that_never_stops_catching_ends", &[], || {
        let fault = limited(1, 2, || {
            loop {
                let _ = catch_unwind(sync_threads);
                if thread_rank() == 1 {
                    trap();
                }
            }
        });
        eprintln!("{}", fault.unwrap_err());
    });
    let Some(output) = output else { return };
    let text = text(&output);
    let ends = ["thread (0,0,0), while it unwinds: endless loop", "(1,0,0): the kernel trapped"];
    assert!(ends.iter().any(|end| text.contains(end)), "{text}");
}

#[test]
fn a_fault_in_drop_while_unwinding_ends_the_process_with_its_text() {
    let output =
        alone("a_fault_in_drop_while_unwinding_ends_the_process_with_its_text", &[], || {
            let _ = run(1, 2, || {
                let _own = OnDrop(|| trap());
                panic!("planted");
            });
        });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(!output.status.success());
    assert!(
        text.contains("fatal: kernel `attack`, block (0,0,0) thread (0,0,0): the kernel trapped"),
        "{text}"
    );
}

#[test]
fn two_panics_at_once_are_both_printed() {
    let output = alone("two_panics_at_once_are_both_printed", &[], || {
        let _ = run(1, 2, || {
            let _own = OnDrop(|| panic!("second"));
            panic!("first");
        });
    });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(!output.status.success());
    assert!(text.contains("block (0,0,0) thread (0,0,0): panic: first, at "), "{text}");
    assert!(text.contains("second"), "{text}");
}

#[test]
fn a_kernels_panic_is_silent_unless_a_backtrace_is_asked_for() {
    let name = "a_kernels_panic_is_silent_unless_a_backtrace_is_asked_for";
    let attack = || {
        run(1, 2, || panic!("planted")).unwrap_err();
        let _ = catch_unwind(|| panic!("of the host"));
    };
    let Some(silent) = alone(name, &[], attack) else { return };
    assert!(silent.status.success());
    assert!(!text(&silent).contains("planted"), "{}", text(&silent));
    assert!(text(&silent).contains("of the host"), "{}", text(&silent));
    let loud = alone(name, &[("RUST_BACKTRACE", "1")], attack).unwrap();
    assert!(text(&loud).contains("planted"), "{}", text(&loud));
}

#[test]
fn a_payload_whose_drop_panics_is_a_fault_like_any() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let fault = run(1, 64, || {
        sync_threads();
        if thread_rank() == 9 {
            panic_any(Bomb);
        }
        sync_threads();
    })
    .unwrap_err();
    assert_eq!(fault.at.thread[0], 9);
    assert!(matches!(fault.kind, FaultKind::Panic { .. }), "{fault}");
}

#[test]
fn other_os_threads_are_no_threads_of_the_kernel() {
    run(2, 2, || {
        let payload = std::thread::spawn(thread_idx).join().unwrap_err();
        let text = payload.downcast_ref::<&str>().unwrap();
        assert!(text.contains("outside a kernel launch"), "{text}");
        let payload = std::thread::spawn(|| trap()).join().unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("the kernel trapped"), "{text}");
    })
    .unwrap();
}

/// A destructor launches a kernel while the host unwinds. The kernel's threads do not count as
/// panicking, so they pass the barrier.
#[test]
fn a_launch_while_the_host_unwinds_works() {
    thread_local!(static PASSED: Cell<u32> = const { Cell::new(0) });
    let _ = catch_unwind(|| {
        let _launch = OnDrop(|| {
            let passed = AtomicU32::new(0);
            run(2, 64, || {
                sync_threads();
                passed.fetch_add(1, Relaxed);
            })
            .unwrap();
            PASSED.set(passed.into_inner());
        });
        panic!("planted");
    });
    assert_eq!(PASSED.get(), 128);
}

/// A kernel stores a shared region in a thread-local, and another block uses the region. A launch
/// of one block runs on the calling OS thread, so both blocks access the same thread-local.
#[test]
fn shared_memory_kept_from_another_block_is_refused() {
    thread_local!(static KEPT: Cell<Option<SharedRegion>> = const { Cell::new(None) });
    let read_kept = || shared_access(&KEPT.get().unwrap(), 0, [4, 4], AccessKind::Load);
    run(1, 1, || {
        let region = shared_static("array", 16);
        KEPT.set(Some(region));
        shared_access(&region, 0, [4, 4], AccessKind::Store);
        read_kept();
        let inner = run(1, 1, read_kept).unwrap_err();
        assert!(matches!(inner.kind, FaultKind::StaleHandle { what: "Shared", .. }), "{inner}");
        read_kept();
    })
    .unwrap();
    let later = run(1, 1, read_kept).unwrap_err();
    assert!(matches!(later.kind, FaultKind::StaleHandle { what: "Shared", .. }), "{later}");
}

#[test]
fn shapes_over_cudas_limits_are_refused() {
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([u32::MAX; 3], [1, 1, 1]),
        ([1, 65536, 1], [1, 1, 1]),
        ([1, 1, 65536], [1, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [1, 1, 65]),
        ([1, 1, 1], [65536, 65536, 1]),
        ([1, 1, 1], [u32::MAX; 3]),
    ] {
        let fault = checked(Checks::BUILD, grid, block, || panic!("must not run")).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Shape { grid, block });
    }
}

/// The largest grid has nearly 2⁶³ blocks. Block indices must not overflow, and a fault ends the
/// launch at once.
#[test]
fn the_largest_grid_begins() {
    for grid in [[65535; 3], [i32::MAX as u32, 65535, 65535]] {
        let fault = checked(Checks::BUILD, grid, [1, 1, 1], || {
            let block = cuda_cpu::block_idx();
            assert!(block.iter().zip(grid).all(|(i, n)| *i < n), "{block:?}");
            trap();
        });
        assert!(is_trap(&fault.unwrap_err()));
    }
}

/// A kernel holds a `RefCell` borrow across a barrier. The threads of a block interleave on one OS
/// thread, so the second borrow panics.
#[test]
fn borrows_across_a_barrier_are_checked() {
    thread_local!(static VALUE: RefCell<u32> = const { RefCell::new(0) });
    let fault = run(1, 2, || {
        VALUE.with_borrow_mut(|value| {
            *value += 1;
            sync_threads();
        });
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Panic { .. }), "{fault}");
    run(1, 2, || VALUE.with_borrow_mut(|value| *value += 1)).unwrap();
}

#[test]
fn catching_an_unwinding_keeps_what_the_closure_owns() {
    let live = AtomicU32::new(0);
    run(1, 64, || {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            live.fetch_add(1, Relaxed);
            let _own = OnDrop(|| {
                live.fetch_sub(1, Relaxed);
            });
            sync_threads();
            if thread_rank() == 63 {
                trap();
            }
            sync_threads();
        }));
    })
    .unwrap_err();
    assert_eq!(live.load(Relaxed), 0);
}

/// A kernel declares more shared memory than any GPU has. Without a check, Linux would grant the
/// memory and kill the process when the memory is filled.
#[test]
fn shared_memory_that_no_gpu_has_is_a_fault() {
    for bytes in [228 << 10, 64 << 30, usize::MAX] {
        let fault = run(2, 3, || {
            let _ = shared_static("small", 1 << 10);
            let _ = shared_static("large", bytes);
        })
        .unwrap_err();
        let FaultKind::SharedTooLarge { array, bytes: found, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!((array, found), ("large", bytes.saturating_add(1 << 10)));
    }
}

/// A thread-local destructor launches a kernel, possibly after the simulator's own thread-locals
/// have been destroyed. The launch must succeed.
#[test]
fn a_launch_in_a_thread_local_destructor_works() {
    struct AtExit(Cell<Option<std::sync::mpsc::Sender<Result<(), Fault>>>>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            let result = run(2, 64, sync_threads);
            self.0.take().unwrap().send(result).unwrap();
        }
    }
    thread_local!(static AT_EXIT: AtExit = const { AtExit(Cell::new(None)) });
    let (sender, results) = std::sync::mpsc::channel();
    std::thread::spawn(|| {
        AT_EXIT.with(|at_exit| at_exit.0.set(Some(sender)));
        run(2, 64, sync_threads).unwrap();
        run(1, 64, sync_threads).unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(results.recv(), Ok(Ok(())));
}

/// A stack that is too large to allocate is a fault, and a size of 0 is raised to the minimum. The
/// test runs in a child process, because the stack size is global to the process.
#[test]
fn stacks_of_any_size_are_safe() {
    let output = alone("stacks_of_any_size_are_safe", &[], || {
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 50] {
            set_stack_bytes(bytes);
            let fault = run(2, 2, sync_threads).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::NoStack { .. }), "{fault}");
        }
        set_stack_bytes(0);
        run(2, 2, sync_threads).unwrap();
    });
    let Some(output) = output else { return };
    assert!(output.status.success(), "{}", text(&output));
}

/// Nested launches fill the stack, and each round starts at another stack depth. The stack
/// therefore overflows at different places in the code of a launch, not only in the kernel. Each
/// overflow must be a fault.
#[test]
fn an_overflow_while_launching_is_a_fault() {
    #[expect(unconditional_recursion, reason = "it must overflow")]
    fn descend(step: usize) -> usize {
        let frame = black_box([step as u8; 64]);
        run(1, 33, sync_threads).unwrap();
        descend(step + 1) + usize::from(black_box(frame)[3])
    }
    let output = alone("an_overflow_while_launching_is_a_fault", &[], || {
        set_stack_bytes(32 << 10);
        for round in 0..200 {
            let padding = black_box(round);
            let fault = run(1, 1, || {
                black_box(recurse(padding * 16));
                black_box(descend(0));
            })
            .unwrap_err();
            assert!(matches!(fault.kind, FaultKind::StackOverflow { .. }), "{fault}");
            run(64, 64, sync_threads).unwrap();
        }
        eprintln!("all rounds");
    });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(text.contains("all rounds"), "{text}");
}

/// A kernel prints forever. It is stopped while it holds the lock of stdout, or between two lines.
/// The process must not hang in either case.
#[test]
fn a_kernel_that_prints_forever_ends() {
    let output = alone("a_kernel_that_prints_forever_ends", &[], || {
        let fault = limited(4, 1, || {
            loop {
                println!("a line");
            }
        });
        println!("the host prints");
        eprintln!("{}", fault.unwrap_err());
    });
    let Some(output) = output else { return };
    let text = text(&output);
    assert!(text.contains("kernel `attack`, block"), "{text}");
    assert!(text.contains("endless loop"), "{text}");
}

/// Each buffer with guards takes two of the mappings that Linux allows a process.
#[test]
fn many_buffers_leave_room_for_stacks() {
    let buffers: Vec<_> = (0..50_000_u32).map(|_| memory::allocate(64).unwrap()).collect();
    limited(2, 1024, sync_threads).unwrap();
    for (i, buffer) in (0..).zip(&buffers) {
        // SAFETY: the buffer has 64 bytes.
        unsafe {
            assert_eq!(buffer.cast::<u32>().read(), 0, "{i}");
            buffer.cast::<u32>().write(i);
        }
    }
    for (i, buffer) in (0..).zip(buffers) {
        // SAFETY: the buffer has 64 bytes, and nothing uses it afterwards.
        unsafe {
            assert_eq!(buffer.cast::<u32>().read(), i);
            memory::free(buffer, 64);
        }
    }
}

#[test]
fn sizes_that_cannot_be_allocated_are_errors() {
    for bytes in [0, 1 << 60, usize::MAX] {
        assert!(memory::allocate(bytes).is_err(), "{bytes}");
    }
}

/// The first access has an address that the processor rejects without telling it.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_pointer_that_cannot_exist() {
    let fault = limited(1, 1, || {
        let pointer = ptr::with_exposed_provenance::<u8>(0x7b7b_7b7b_7b7b_7b7b);
        // SAFETY: the access is invalid on purpose.
        unsafe { pointer.read_volatile() };
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::InvalidAddress { address: None, .. }), "{fault}");
    assert!(fault.to_string().contains("no pointer can have"), "{fault}");
}

#[test]
fn several_host_threads_launch_at_once() {
    thread::scope(|scope| {
        for host in 0..8 {
            scope.spawn(move || {
                for round in 0..20 {
                    let fault = limited(4, 96, || {
                        sync_threads();
                        assert!(thread_rank() != 70, "host {host}, round {round}");
                        sync_threads();
                    })
                    .unwrap_err();
                    let expected = format!("panic: host {host}, round {round}");
                    assert!(fault.to_string().contains(&expected), "{fault}");
                    limited(4, 96, sync_threads).unwrap();
                }
            });
        }
    });
}
