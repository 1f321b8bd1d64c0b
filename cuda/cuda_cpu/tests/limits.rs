//! Kernels that use up what the process has, or wait where a GPU has nothing to wait for. A launch
//! must return, or the process must end with a message that names the thread.

use std::env;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Duration;

use cuda_cpu::{Checks, ConstantBank, Fault, FaultKind, Launch, memory, sync_threads, thread_rank};

fn run(blocks: u32, threads: u32, thread: impl Fn() + Sync) -> Result<(), Fault> {
    let limit = Some(Duration::from_millis(500));
    let launch = Launch {
        kernel: "limits",
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        constants: &ConstantBank::default(),
        checks: Checks { limit, ..Checks::BUILD },
    };
    // SAFETY: no test lends memory to other OS threads.
    unsafe { cuda_cpu::launch_stoppable(&launch, &|threads| threads.each(&thread)) }
}

/// Runs the test `test` of this executable in a child process, which calls `attack`. Returns the
/// child's output, or `None` in the child itself.
fn alone(test: &str, attack: fn()) -> Option<Output> {
    const MARK: &str = "CUDA_CPU_LIMITS";
    if env::var_os(MARK).is_some() {
        attack();
        return None;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, "1");
    Some(command.env_remove("RUST_BACKTRACE").output().unwrap())
}

/// Thread 1 waits for a lock of the standard library that thread 0 holds at the barrier. Both run
/// on one OS thread, which would wait forever.
#[cfg(target_os = "linux")]
#[test]
fn a_wait_in_the_operating_system_ends_the_process() {
    let output = alone("a_wait_in_the_operating_system_ends_the_process", || {
        let lock = Mutex::new(0);
        let _ = run(1, 2, || {
            *lock.lock().unwrap() += 1;
            let _held = lock.lock().unwrap();
            sync_threads();
        });
    });
    let Some(output) = output else { return };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    let expected = "thread (1,0,0), waiting in the operating system: endless loop";
    assert!(text.contains(expected), "{text}");
}

/// A kernel prints forever. It is stopped while it holds the lock of stdout, or between two lines.
/// The process must not hang in either case.
#[cfg(target_os = "linux")]
#[test]
fn a_kernel_that_prints_forever_ends() {
    let output = alone("a_kernel_that_prints_forever_ends", || {
        let fault = run(4, 1, || {
            loop {
                println!("a line");
            }
        });
        println!("the host prints");
        eprintln!("{}", fault.unwrap_err());
    });
    let Some(output) = output else { return };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("kernel `limits`, block"), "{text}");
    assert!(text.contains("endless loop"), "{text}");
}

/// Each buffer with guards takes two of the mappings that Linux allows a process.
#[test]
fn many_buffers_leave_room_for_stacks() {
    let buffers: Vec<_> = (0..50_000_u32).map(|_| memory::allocate(64).unwrap()).collect();
    run(2, 1024, sync_threads).unwrap();
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
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_pointer_that_cannot_exist() {
    let fault = run(1, 1, || {
        let pointer = std::ptr::with_exposed_provenance::<u8>(0x7b7b_7b7b_7b7b_7b7b);
        // SAFETY: the access is invalid on purpose.
        unsafe { pointer.read_volatile() };
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::InvalidAddress { address: None, .. }), "{fault}");
    assert!(fault.to_string().contains("no pointer can have"), "{fault}");
}

#[test]
fn several_host_threads_launch_at_once() {
    std::thread::scope(|scope| {
        for host in 0..8 {
            scope.spawn(move || {
                for round in 0..20 {
                    let fault = run(4, 96, || {
                        sync_threads();
                        assert!(thread_rank() != 70, "host {host}, round {round}");
                        sync_threads();
                    })
                    .unwrap_err();
                    let expected = format!("panic: host {host}, round {round}");
                    assert!(fault.to_string().contains(&expected), "{fault}");
                    run(4, 96, sync_threads).unwrap();
                }
            });
        }
    });
}
