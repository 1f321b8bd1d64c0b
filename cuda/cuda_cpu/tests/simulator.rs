//! Tests of the simulator without `cuda_std`, with closures as kernels.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cuda_cpu::{
    Checks, Fault, FaultKind, Launch, WarpOp, block_dim, block_idx, grid_dim, launch, launch_id,
    shared_static, sync_threads, thread_idx, thread_rank, warp_exchange,
};

fn run(grid: [u32; 3], block: [u32; 3], thread: impl Fn() + Sync) -> Result<(), Fault> {
    let checks = Checks { shared: true, ..Checks::BUILD };
    let config = Launch { checks, ..Launch::new("closure", grid, block) };
    launch(&config, &thread)
}

/// Returns the linear index of the running thread in its grid.
fn global_rank() -> usize {
    let ([bx, by, bz], [gx, gy, _]) = (block_idx(), grid_dim());
    let threads: u32 = block_dim().iter().product();
    (((bz * gy + by) * gx + bx) * threads + thread_rank()) as usize
}

#[test]
fn odd_grids_run_every_thread_once() {
    for (grid, block) in [
        ([1, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1023, 1, 1]),
        ([7, 3, 5], [3, 5, 7]),
        ([101, 1, 1], [33, 1, 1]),
        ([1, 1, 67], [1, 13, 3]),
    ] {
        let threads = grid.iter().chain(&block).product::<u32>() as usize;
        let seen: Vec<AtomicU32> = (0..threads).map(|_| AtomicU32::new(0)).collect();
        run(grid, block, || {
            seen[global_rank()].fetch_add(1, Relaxed);
        })
        .unwrap();
        assert!(seen.iter().all(|n| n.load(Relaxed) == 1), "{grid:?} × {block:?}");
    }
}

#[test]
fn indices_stay_right_after_every_barrier() {
    run([5, 2, 1], [6, 5, 2], || {
        let before = (thread_idx(), thread_rank(), block_idx());
        let [x, y, z] = before.0;
        assert_eq!(before.1, (z * 5 + y) * 6 + x);
        for _ in 0..3 {
            sync_threads();
            assert_eq!((thread_idx(), thread_rank(), block_idx()), before);
        }
    })
    .unwrap();
}

/// Without barriers, a thread costs one call, so ten million threads must finish within 20 seconds.
/// With a fiber per thread, which costs at least a microsecond, they would take much longer.
#[test]
fn threads_without_barriers_are_a_loop() {
    let threads = 10_000_000;
    let sum = AtomicU64::new(0);
    let start = Instant::now();
    run([threads / 1000, 1, 1], [1000, 1, 1], || {
        if thread_rank() == 999 {
            sum.fetch_add(global_rank() as u64, Relaxed);
        }
    })
    .unwrap();
    let expected: u64 = (0..u64::from(threads / 1000)).map(|block| block * 1000 + 999).sum();
    assert_eq!(sum.load(Relaxed), expected);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Without barriers all threads of a block run on one stack, so their locals have the same address.
/// With a barrier every thread has its own stack.
#[test]
fn a_thread_gets_a_stack_of_its_own_only_when_it_waits() {
    for (barrier, stacks) in [(false, 1), (true, 64)] {
        let frames: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        run([1, 1, 1], [64, 1, 1], || {
            let local = 0_u8;
            frames[global_rank()].store((&raw const local).addr() as u64, Relaxed);
            if barrier {
                sync_threads();
            }
        })
        .unwrap();
        let mut frames: Vec<u64> = frames.into_iter().map(AtomicU64::into_inner).collect();
        frames.sort_unstable();
        frames.dedup();
        assert_eq!(frames.len(), stacks, "barrier: {barrier}");
    }
}

#[test]
fn a_thousand_threads_pass_a_hundred_barriers() {
    let steps: Vec<AtomicU32> = (0..1024).map(|_| AtomicU32::new(0)).collect();
    run([1, 1, 1], [1024, 1, 1], || {
        let (own, next) = (global_rank(), (global_rank() + 1) % 1024);
        for step in 0..100 {
            assert_eq!(steps[next].load(Relaxed), step);
            sync_threads();
            steps[own].store(step + 1, Relaxed);
            sync_threads();
        }
    })
    .unwrap();
    assert!(steps.iter().all(|step| step.load(Relaxed) == 100));
}

/// 48 OS threads run blocks of 1024 waiting threads. One stack for each of these threads would
/// exceed the mappings that Linux allows, unless blocks wait for stacks.
#[test]
fn many_cores_and_large_blocks_fit_into_the_address_space() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(48).build().unwrap();
    let passed = AtomicU32::new(0);
    pool.install(|| {
        run([192, 1, 1], [1024, 1, 1], || {
            sync_threads();
            passed.fetch_add(1, Relaxed);
        })
    })
    .unwrap();
    assert_eq!(passed.load(Relaxed), 192 * 1024);
}

/// While a thread of a rayon pool waits for a launch, it must do no other work of its pool: that
/// could launch the same kernel value, or wait for a lock that the thread holds.
#[test]
fn a_thread_of_a_pool_does_no_other_work_during_a_launch() {
    thread_local! {
        static LAUNCHES: Cell<bool> = const { Cell::new(false) };
    }
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let (lock, threads) = (Mutex::new(()), AtomicU32::new(0));
    pool.scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|_| {
                assert!(!LAUNCHES.replace(true));
                let _guard = lock.lock().unwrap();
                run([16, 1, 1], [32, 1, 1], || {
                    sync_threads();
                    threads.fetch_add(1, Relaxed);
                })
                .unwrap();
                LAUNCHES.set(false);
            });
        }
    });
    assert_eq!(threads.into_inner(), 200 * 16 * 32);
}

/// A destructor that launches during a panic must not wait for the threads of the launch that waits
/// for it.
#[test]
fn destructors_launch_while_all_threads_of_the_pool_panic() {
    struct Launching;
    impl Drop for Launching {
        fn drop(&mut self) {
            run([4, 1, 1], [32, 1, 1], sync_threads).unwrap();
        }
    }
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let fault = pool.install(|| {
        run([8, 1, 1], [1, 1, 1], || {
            let _launching = Launching;
            panic!("planted");
        })
    });
    assert!(matches!(fault.unwrap_err().kind, FaultKind::Panic { .. }));
}

#[test]
fn a_panic_is_a_fault_and_the_next_launch_works() {
    for _ in 0..20 {
        let fault = run([4, 1, 1], [96, 1, 1], || {
            sync_threads();
            assert!(global_rank() != 200, "planted");
            sync_threads();
        })
        .unwrap_err();
        let FaultKind::Panic { text, place: Some(place) } = fault.kind else { panic!("{fault}") };
        assert_eq!(text, "planted");
        assert!(place.starts_with(file!()), "{place}");
        assert_eq!((fault.at.block, fault.at.thread), ([2, 0, 0], [8, 0, 0]));
        run([4, 1, 1], [96, 1, 1], sync_threads).unwrap();
    }
}

/// One thread of a block panics while the others wait. All threads must drop their values.
#[test]
fn waiting_threads_are_unwound() {
    struct Owned<'a>(&'a AtomicU32);
    impl Drop for Owned<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let live = AtomicU32::new(0);
    run([3, 1, 1], [64, 1, 1], || {
        live.fetch_add(1, Relaxed);
        let _owned = Owned(&live);
        sync_threads();
        assert!(global_rank() != 100, "planted");
        sync_threads();
    })
    .unwrap_err();
    assert_eq!(live.load(Relaxed), 0);
}

/// A kernel catches its own panic, which occurs after a barrier. The launch must succeed.
#[test]
fn a_caught_panic_is_no_fault() {
    let caught = AtomicU32::new(0);
    run([2, 1, 1], [40, 1, 1], || {
        let result = catch_unwind(AssertUnwindSafe(|| {
            sync_threads();
            assert!(!thread_rank().is_multiple_of(2), "even");
        }));
        caught.fetch_add(result.is_err().into(), Relaxed);
        sync_threads();
    })
    .unwrap();
    assert_eq!(caught.load(Relaxed), 40);
}

#[test]
fn a_launch_within_a_launch_restores_the_outer_one() {
    run([2, 1, 1], [3, 1, 1], || {
        let outside = (block_idx(), thread_rank());
        let inner = AtomicU32::new(0);
        run([1, 1, 1], [70, 1, 1], || {
            sync_threads();
            inner.fetch_add(1, Relaxed);
        })
        .unwrap();
        assert_eq!(inner.load(Relaxed), 70);
        assert_eq!((block_idx(), thread_rank()), outside);
        sync_threads();
        assert_eq!((block_idx(), thread_rank()), outside);
    })
    .unwrap();
}

#[test]
fn gpu_functions_outside_of_a_launch_say_so() {
    let payload = catch_unwind(thread_idx).unwrap_err();
    let text = payload.downcast_ref::<&str>().unwrap();
    assert!(text.contains("outside a kernel launch"), "{text}");
}

#[test]
fn shared_memory_is_each_blocks_own_and_poisoned_at_first() {
    run([9, 1, 1], [4, 1, 1], || {
        let region = shared_static("array", 16);
        // SAFETY: the region has four words for four threads, and a barrier separates writes from
        // reads.
        unsafe {
            let words = region.base.cast::<u32>();
            assert_eq!(
                *words.add(thread_rank() as usize),
                u32::from_ne_bytes([cuda_cpu::POISON; 4])
            );
            sync_threads();
            *words.add(thread_rank() as usize) = block_idx()[0];
            sync_threads();
            assert_eq!(*words.add(3 - thread_rank() as usize), block_idx()[0]);
        }
    })
    .unwrap();
}

/// Warps proceed independently: one warp exchanges values a hundred times while the other waits at
/// the barrier.
#[test]
fn warps_meet_independently() {
    run([3, 1, 1], [64, 1, 1], || {
        if thread_rank() < 32 {
            for round in 0..100 {
                let place = Location::caller();
                let value = thread_rank() * 1000 + round;
                let lanes = warp_exchange(WarpOp::Exchange, u32::MAX, value, place);
                for (lane, value) in (0..).zip(lanes) {
                    assert_eq!(value, lane * 1000 + round);
                }
            }
        }
        sync_threads();
    })
    .unwrap();
}

#[test]
fn one_failing_block_among_many_is_named() {
    for guilty in [0, 511, 1000] {
        let fault = run([1001, 1, 1], [8, 1, 1], || {
            if block_idx()[0] == guilty && thread_rank() == 5 {
                cuda_cpu::fail(FaultKind::Trap { place: Location::caller() });
            }
        })
        .unwrap_err();
        assert_eq!((fault.at.block[0], fault.at.thread[0]), (guilty, 5));
        assert!(matches!(fault.kind, FaultKind::Trap { .. }));
    }
}

#[test]
fn a_launch_has_one_id_of_its_own() {
    assert_eq!(launch_id(), 0);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let id = AtomicU64::new(0);
        run([64, 1, 1], [33, 1, 1], || {
            let before = launch_id();
            let first = id.compare_exchange(0, before, Relaxed, Relaxed);
            assert_eq!(first.unwrap_or_else(|other| other).max(before), before);
            run([1, 1, 1], [1, 1, 1], || assert_ne!(launch_id(), before)).unwrap();
            sync_threads();
            assert_eq!(launch_id(), before);
        })
        .unwrap();
        seen.push(id.into_inner());
    }
    assert_eq!(launch_id(), 0);
    assert!(seen[0] > 0 && seen.is_sorted_by(|a, b| a < b), "{seen:?}");
}
