//! Prints the cost of each simulator operation in nanoseconds per thread, on one core. With any
//! argument, it measures only a barrier.
//!
//! `cargo run --release -p stable-cuda-cpu --example cost`

use std::hint::black_box;
use std::panic::Location;
use std::time::Instant;

use cuda_cpu::profile::Profile;
use cuda_cpu::{
    AccessKind, Checks, Launch, WarpOp, global_access, launch, shared_access, shared_static,
    sync_threads, thread_rank, warp_exchange,
};

/// The measured block sizes, in threads.
const BLOCKS: [u32; 2] = [256, 1024];
/// The number of repetitions of an operation in one thread.
const TIMES: u32 = 50;

fn main() {
    // Launches inside a launch run on one thread.
    cuda_cpu::in_pool(measure).expect("the system starts threads");
}

fn measure() {
    println!("{:>32} {:>10} {:>10}", "ns per thread, block of", BLOCKS[0], BLOCKS[1]);
    if std::env::args().nth(1).is_some() {
        row("barrier", false, 500, |n| (0..n).for_each(|_| sync_threads()));
        return;
    }
    row("empty kernel", false, 1, |_| {});
    row("first barrier", false, 1, |_| sync_threads());
    row("barrier", false, TIMES, |n| (0..n).for_each(|_| sync_threads()));
    row("warp exchange", false, TIMES, |n| {
        for i in 0..n {
            black_box(warp_exchange(WarpOp::Exchange, u32::MAX, i, Location::caller()));
        }
    });
    row("sync_warp", false, TIMES, |n| {
        for i in 0..n {
            black_box(warp_exchange(WarpOp::Sync, u32::MAX, i, Location::caller()));
        }
    });
    for (name, check) in [("shared access", false), ("shared access, race checks", true)] {
        row(name, check, TIMES, |n| {
            let region = shared_static("array", 4096);
            let own = 4 * thread_rank() as usize;
            for i in 0..n {
                let kind = if i % 2 == 0 { AccessKind::Store } else { AccessKind::Load };
                shared_access(&region, own, [4, 4], kind);
            }
        });
    }
    row("shared access, barriers between", true, TIMES, |n| {
        let region = shared_static("array", 4096);
        let rank = thread_rank() as usize;
        for i in 0..n / 10 {
            shared_access(&region, 4 * rank, [4, 4], AccessKind::Store);
            sync_threads();
            for j in 0..8 {
                shared_access(&region, 4 * (rank ^ j), [4, 4], AccessKind::Load);
            }
            shared_access(&region, 4 * (i as usize), [4, 4], AccessKind::Load);
            sync_threads();
        }
    });
    let global = |n| {
        let own = 4 * thread_rank() as usize;
        (0..n).for_each(|_| global_access(own, [4, 4], AccessKind::Load));
    };
    row("global access", false, TIMES, global);
    Profile::record(|| {
        row("global access, profiled", false, TIMES, global);
        row("barrier, profiled", false, TIMES, |n| (0..n).for_each(|_| sync_threads()));
    });
}

/// Runs a kernel that repeats an operation `times` times, and prints the time of one repetition.
fn row(name: &str, shared: bool, times: u32, kernel: impl Fn(u32) + Sync) {
    print!("{name:>32}");
    for threads in BLOCKS {
        let blocks = (1 << 22) / threads / times;
        let checks = Checks { shared, ..Checks::BUILD };
        let grid = [blocks.max(2), 1, 1];
        let config = Launch { checks, ..Launch::new("cost", grid, [threads, 1, 1]) };
        let best = (0..5).map(|_| {
            let start = Instant::now();
            launch(&config, &|| kernel(times)).expect("the kernel causes no fault");
            start.elapsed().as_secs_f64()
        });
        let operations = f64::from(config.grid[0] * threads * times);
        print!(" {:>10.2}", best.fold(f64::INFINITY, f64::min) * 1e9 / operations);
    }
    println!();
}
