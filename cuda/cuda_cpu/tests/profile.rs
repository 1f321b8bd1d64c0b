//! Profiles of kernels whose counts follow from arithmetic.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{env, fs};

use cuda_cpu::profile::{Counts, KernelProfile, Operation, Profile};
use cuda_cpu::{
    AccessKind, Checks, Fault, Launch, WarpOp, atomic_access, block_idx, global_access, launch,
    shared_access, shared_static, sync_threads, thread_rank, warp_exchange,
};

/// An address in global memory, aligned like an allocation. No kernel of this file dereferences it.
const BASE: usize = 1 << 30;

/// Launches `kernel` with `blocks` blocks of `threads` threads.
fn run(blocks: u32, threads: u32, kernel: impl Fn() + Sync) -> Result<(), Fault> {
    run_with(Checks::NONE, blocks, threads, kernel)
}

fn run_with(
    checks: Checks,
    blocks: u32,
    threads: u32,
    kernel: impl Fn() + Sync,
) -> Result<(), Fault> {
    let config = Launch { checks, ..Launch::new("kernel", [blocks, 1, 1], [threads, 1, 1]) };
    launch(&config, &kernel)
}

/// Returns the profile of one launch that succeeds.
fn profile(blocks: u32, threads: u32, kernel: impl Fn() + Sync) -> KernelProfile {
    let (result, mut profile) = Profile::record(|| run(blocks, threads, kernel));
    result.expect("the kernel has no fault");
    profile.kernels.remove("kernel").expect("the launch is profiled")
}

/// Loads the `f32` at an index of global memory.
#[track_caller]
fn load(index: u32) {
    global_access(BASE + 4 * index as usize, [4, 4], AccessKind::Load);
}

/// Loads the `f32` at an index of a shared array of 8 KB.
#[track_caller]
fn load_shared(index: u32) {
    let region = shared_static("array", 8192);
    shared_access(&region, 4 * index as usize, [4, 4], AccessKind::Load);
}

/// Returns the requests, the sectors and the ideal sectors of global loads.
fn loads(kernel: &KernelProfile) -> [u64; 3] {
    let Counts { requests, sectors, ideal_sectors, .. } = kernel.total(Operation::GlobalLoad);
    [requests, sectors, ideal_sectors]
}

/// Returns the requests and the bank conflicts of shared loads.
fn conflicts(kernel: &KernelProfile) -> [u64; 2] {
    let counts = kernel.total(Operation::SharedLoad);
    [counts.requests, counts.conflicts()]
}

#[test]
fn a_stride_of_two_doubles_the_sectors() {
    assert_eq!(loads(&profile(3, 64, || load(thread_rank()))), [6, 24, 24]);
    assert_eq!(loads(&profile(3, 64, || load(2 * thread_rank()))), [6, 48, 24]);
    assert_eq!(loads(&profile(1, 32, || load(thread_rank() / 32))), [1, 1, 1]);
}

#[test]
fn the_columns_of_a_tile_conflict_unless_it_is_padded() {
    let column = |pitch| {
        profile(1, 32, move || (0..32).for_each(|k| load_shared(thread_rank() * pitch + k)))
    };
    assert_eq!(conflicts(&column(32)), [32, 32 * 31]);
    assert_eq!(conflicts(&column(33)), [32, 0]);
    assert_eq!(conflicts(&profile(1, 32, || load_shared(7))), [1, 0]);
}

#[test]
fn an_element_takes_one_access_of_its_alignment_or_several() {
    let vector = |align| {
        let kernel = profile(1, 32, move || {
            let at = BASE + 16 * thread_rank() as usize;
            global_access(at, [16, align], AccessKind::Load);
        });
        let bytes: Vec<_> = kernel.sites.keys().map(|site| site.bytes).collect();
        (loads(&kernel), bytes)
    };
    assert_eq!(vector(16), ([1, 16, 16], vec![16]));
    assert_eq!(vector(4), ([4, 64, 16], vec![4]));
    let large = profile(1, 32, || {
        let at = BASE + 64 * thread_rank() as usize;
        global_access(at, [64, 32], AccessKind::Store);
    });
    assert_eq!(large.total(Operation::GlobalStore).requests, 4);
}

#[test]
fn the_halves_of_a_warp_make_two_requests_in_a_branch() {
    let kernel = profile(1, 32, || {
        if thread_rank() < 16 {
            load(thread_rank());
        } else {
            load(31 - thread_rank());
        }
        load(thread_rank());
    });
    let counts: Vec<_> = kernel.sites.values().map(|c| (c.requests, c.lanes, c.partial)).collect();
    assert_eq!(counts, [(1, 16, 1), (1, 16, 1), (1, 32, 0)]);
}

#[test]
fn the_last_warp_can_have_fewer_lanes() {
    // Each block has a warp of 32 and a warp of 16 threads. 90 elements leave 6 for the last warp.
    let kernel = profile(2, 48, || {
        let i = block_idx()[0] * 48 + thread_rank();
        if i < 90 {
            load(i);
        }
    });
    let Counts { requests, lanes, partial, .. } = kernel.total(Operation::GlobalLoad);
    assert_eq!((requests, lanes, partial), (4, 90, 1));
    assert_eq!((kernel.blocks, kernel.warps), (2, 4));
}

#[test]
fn lanes_meet_again_after_loops_of_different_length() {
    let kernel = profile(1, 32, || {
        for _ in 0..thread_rank() {
            load(thread_rank());
        }
        load(thread_rank());
    });
    let counts: Vec<_> = kernel.sites.values().map(|c| (c.requests, c.lanes)).collect();
    assert_eq!(counts, [(31, 31 * 32 / 2), (1, 32)]);
}

#[test]
fn waits_are_counted_and_separate_requests() {
    let kernel = profile(1, 64, || {
        for i in 0..10 {
            // Only one half of the lanes accesses memory between two barriers.
            if (thread_rank() % 32 < 16) == (i % 2 == 0) {
                load(thread_rank());
            }
            sync_threads();
        }
        let place = std::panic::Location::caller();
        warp_exchange(WarpOp::Exchange, u32::MAX, 0, place);
    });
    let of = |operation| {
        let counts = kernel.total(operation);
        (counts.requests, counts.lanes, counts.partial)
    };
    assert_eq!(of(Operation::Barrier), (20, 640, 0));
    assert_eq!(of(Operation::WarpOperation), (2, 64, 0));
    assert_eq!(of(Operation::GlobalLoad), (20, 320, 20));
}

#[test]
fn a_warp_operation_of_some_lanes_does_not_separate_the_others() {
    let kernel = profile(1, 32, || {
        let place = std::panic::Location::caller();
        if thread_rank() < 8 {
            warp_exchange(WarpOp::Sync, 0xff, 0, place);
        }
        load(thread_rank());
        sync_threads();
        load(thread_rank());
    });
    let counts = kernel.total(Operation::GlobalLoad);
    assert_eq!((counts.requests, counts.lanes, counts.partial), (2, 64, 0));
    let counts = kernel.total(Operation::WarpOperation);
    assert_eq!((counts.requests, counts.lanes, counts.partial), (1, 8, 1));
}

#[test]
fn atomics_in_shared_memory_are_recognised_by_their_address() {
    let kernel = profile(1, 32, || {
        let region = shared_static("bins", 128);
        // More atomics than a thread may execute without letting others run.
        for _ in 0..300 {
            atomic_access(region.base.addr() + 4 * (thread_rank() as usize % 8), 4, false, false);
        }
        atomic_access(BASE, 4, false, false);
        atomic_access(BASE, 4, true, false);
    });
    let shared = kernel.total(Operation::SharedAtomic);
    assert_eq!((shared.requests, shared.wavefronts, shared.lanes), (300, 1200, 9600));
    assert_eq!(kernel.total(Operation::GlobalAtomic).sectors, 32);
    assert_eq!(kernel.total(Operation::GlobalLoad).sectors, 1);
}

#[test]
fn accesses_without_a_wait_are_limited() {
    let kernel = profile(1, 32, || (0..70_000).for_each(|_| load(thread_rank())));
    assert_eq!(kernel.total(Operation::GlobalLoad).requests, 65_536);
    assert_eq!(kernel.dropped, 32 * (70_000 - 65_536));
}

#[test]
fn the_order_of_blocks_and_threads_does_not_matter() {
    let kernel = || {
        let i = block_idx()[0] * 100 + thread_rank();
        load(i * i % 1009);
        load_shared(i % 1000);
        sync_threads();
        (0..thread_rank() % 5).for_each(|k| load_shared(thread_rank() * k));
    };
    let first = profile(64, 100, kernel);
    for _ in 0..5 {
        assert_eq!(profile(64, 100, kernel), first);
    }
    for seed in 0..5 {
        let checks = Checks { order: Some(seed), ..Checks::NONE };
        let (result, profile) = Profile::record(|| run_with(checks, 64, 100, kernel));
        result.expect("the kernel has no fault");
        assert_eq!(profile.kernels["kernel"], first);
    }
}

#[test]
fn recordings_can_be_nested_and_count_only_launches_that_succeed() {
    let (_, outer) = Profile::record(|| {
        run(1, 32, || load(0)).expect("the kernel has no fault");
        let (_, inner) = Profile::record(|| run(1, 32, || load(1)));
        assert_eq!(inner.kernels["kernel"].launches, 1);
        run(1, 32, || panic!("planted")).expect_err("the kernel panics");
        // The launch by a kernel is not counted.
        run(1, 1, || run(1, 32, || load(2)).expect("the kernel has no fault"))
    });
    let kernel = &outer.kernels["kernel"];
    assert_eq!((kernel.launches, loads(kernel)[0]), (3, 2));
    run(1, 32, || load(0)).expect("the kernel has no fault");
}

#[test]
fn checks_still_report_faults_of_profiled_launches() {
    let checks = Checks { shared: true, ..Checks::NONE };
    let races = AtomicU32::new(0);
    let (result, profile) = Profile::record(|| {
        run_with(checks, 1, 2, || {
            let region = shared_static("array", 8);
            shared_access(&region, 0, [4, 4], AccessKind::Store);
            races.fetch_add(1, Relaxed);
        })
    });
    assert!(result.expect_err("a race").to_string().contains("race"));
    assert_eq!((races.load(Relaxed), profile.kernels.len()), (1, 0));
}

/// Launches a kernel in the process that the test below starts.
#[test]
fn launch_for_the_profile_of_a_process() {
    run(2, 32, || load(2 * thread_rank())).expect("the kernel has no fault");
}

#[test]
fn a_process_writes_its_profile_when_it_exits() {
    let folder = env::temp_dir().join(format!("cuda-cpu-profile-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the profiles");
    let child = |file: &str, test: &str| {
        let mut command = Command::new(env::current_exe().expect("this executable"));
        command.args(["--exact", test]);
        command.env("CUDA_CPU_PROFILE", folder.join(file).to_str().expect("a valid name"));
        let output = command.output().expect("this executable starts");
        assert!(output.status.success(), "{output:?}");
    };
    for file in ["%p.json", "table.txt"] {
        child(file, "launch_for_the_profile_of_a_process");
    }
    child("absent.txt", "no_such_test");
    let files = fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let mut files: Vec<_> = files
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("a profile");
            (entry.file_name().into_string().expect("a valid name"), text)
        })
        .collect();
    files.sort();
    fs::remove_dir_all(&folder).expect("the folder can be deleted");
    let [json, table] = <[_; 2]>::try_from(files).expect("two profiles");
    assert!(json.0.trim_end_matches(".json").parse::<u32>().is_ok(), "{}", json.0);
    assert!(json.1.contains("\"requests\": 2, \"lanes\": 64, \"partial\": 0, \"sectors\": 16"));
    assert!(table.1.contains("kernel kernel: 1 launch, 2 blocks, 2 warps"), "{}", table.1);
    assert!(
        table.1.contains("load(2 * thread_rank())"),
        "the table contains the source: {}",
        table.1
    );
}
