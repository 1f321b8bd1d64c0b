//! Faults in kernels as people write them: each report names both places in the source.
//!
//! A line that a report must name ends with a comment `//@ NAME`; [`at`] returns its position.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::time::{Duration, Instant};

use common::{run_with, slice, slice_mut};
use cuda_std::atomic::{AtomicAdd, AtomicValue, Device, Ordering};
use cuda_std::cpu::{Checks, Fault, FaultKind};
use cuda_std::launch::{Kernel, LaunchConfig};
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

/// The start of the position at which a signal stopped a thread. The test profile has no debug
/// information, so the position is the name of a function. In a release build, the compiler has
/// inlined it into the simulator.
const STOPPED: &str = if cfg!(debug_assertions) { ", at " } else { "" };

/// Returns the position of the line with the mark `//@ name`, without the column.
#[track_caller]
fn at(name: &str) -> String {
    let mark = format!("//@ {name}");
    let line = include_str!("faults.rs").lines().position(|line| line.ends_with(&mark));
    format!("faults.rs:{}:", line.expect("the mark exists") + 1)
}

/// Checks for shared and global memory, with a limit of half a second.
fn all() -> Checks {
    Checks { shared: true, global: true, limit: Some(Duration::from_millis(500)), ..Checks::NONE }
}

fn line(blocks: u32, block: u32) -> LaunchConfig {
    LaunchConfig::for_1d(blocks * block, block)
}

/// Runs a kernel that has a fault. Checks that the report contains `words` in this order.
#[track_caller]
fn report<K: Kernel>(config: LaunchConfig, kernel: K, words: &[&str]) -> Fault {
    let fault = run_with(all(), config, kernel).expect_err("no fault was reported");
    let text = fault.to_string();
    let mut rest = text.as_str();
    for word in words {
        let Some((_, after)) = rest.split_once(word) else { panic!("`{word}` in {text}") };
        rest = after;
    }
    fault
}

/// Sums elements with two buffers in turn. `mask` 1 selects the buffer; with 0 there is only one.
#[kernel(dims(1))]
unsafe fn double_buffered(input: Slice<u32>, mask: u32, out: SliceMut<u32>) {
    let tile = shared_array![u32; 128];
    let rank = thread::rank();
    let mut sum = 0;
    // SAFETY: the indices are in bounds. With one buffer, the accesses race on purpose.
    unsafe {
        for step in 0..4 {
            let half = (step & mask) * 64;
            tile.store(half + rank, input.load(step * 64 + rank)); //@ next store
            thread::sync_threads();
            sum += tile.load(half + (rank + 1) % 64); //@ load
        }
        out.store(rank, sum);
    }
}

#[test]
fn a_missing_barrier_in_a_double_buffered_loop() {
    let input = [1; 256];
    let mut out = [0; 64];
    let kernel = DoubleBuffered { input: slice(&input), mask: 0, out: slice_mut(&mut out) };
    let words = ["store of byte", &at("next store"), "earlier load by thread 0 at", &at("load")];
    report(line(1, 64), kernel, &words);
    let kernel = DoubleBuffered { input: slice(&input), mask: 1, out: slice_mut(&mut out) };
    run_with(all(), line(1, 64), kernel).unwrap();
    assert_eq!(out, [4; 64]);
}

/// Threads whose element is 0 skip the barrier.
#[kernel(dims(1))]
unsafe fn skips(input: Slice<u32>) {
    for step in 0..4 {
        // SAFETY: the host passes 256 elements.
        if unsafe { input.load(step * 64 + thread::rank()) } == 0 {
            continue;
        }
        thread::sync_threads(); //@ skipped barrier
    }
}

#[test]
fn a_barrier_that_continue_skips() {
    let mut input = [1; 256];
    run_with(all(), line(1, 64), Skips { input: slice(&input) }).unwrap();
    input[70] = 0;
    let words = ["63 of 64 threads wait at", &at("skipped barrier"), "1 have returned"];
    report(line(1, 64), Skips { input: slice(&input) }, &words);
}

#[kernel(dims(1))]
unsafe fn shuffles(width: u32, half: u32) {
    // SAFETY: the tests break the requirements on purpose.
    unsafe {
        if half == 0 || warp::lane_id() < 16 {
            let _ = warp::warp_shuffle_down(FULL_MASK, 1, 1, width); //@ shuffle
        } else {
            warp::sync_warp(FULL_MASK); //@ other wait
        }
    }
}

#[test]
fn a_shuffle_with_a_wrong_width() {
    run_with(all(), line(1, 32), Shuffles { width: 8, half: 0 }).unwrap();
    for width in [0, 5, 33, 64] {
        let words = ["the width of a shuffle must be 1, 2, 4", &at("shuffle")];
        report(line(1, 32), Shuffles { width, half: 0 }, &words);
    }
}

#[test]
fn lanes_that_wait_elsewhere_are_named() {
    let words = [&at("shuffle"), "lanes 0xffff0000", "others wait at", &at("other wait")];
    report(line(1, 32), Shuffles { width: 32, half: 1 }, &words);
}

/// Splits dynamic shared memory into two arrays, at element `second`.
#[kernel(dims(1))]
unsafe fn two_arrays(second: u32, shift: u32) {
    let rank = thread::rank();
    // SAFETY: the tests break the requirements on purpose.
    unsafe {
        let a = shared::dynamic_shared_mem::<u32>();
        let b = a.tail(second);
        b.store(63 - rank, 1); //@ store to b
        a.store(rank + shift, 2); //@ store to a
    }
}

#[test]
fn arrays_in_dynamic_shared_memory_that_overlap() {
    let kernel = |second, shift| TwoArrays { second, shift };
    let config = line(1, 64).with_dynamic_shared(512);
    run_with(all(), config, kernel(64, 0)).unwrap();
    let words = ["shared memory race: store of byte", "dynamic shared memory", "earlier store by"];
    let text = report(config, kernel(0, 0), &words).to_string();
    assert!(text.contains(&at("store to a")) && text.contains(&at("store to b")), "{text}");
    // An overrun of the first array changes the second one.
    report(config, kernel(64, 2), &words);
    // An overrun of the second one leaves the memory.
    report(
        config,
        kernel(65, 0),
        &["store of Shared at index 63, but the size is 63", &at("store to b")],
    );
}

/// Every thread stores to the element with its index divided by `share`.
#[kernel(dims(1))]
unsafe fn stores(share: u32, out: SliceMut<u32>) {
    let i = thread::index_1d();
    // SAFETY: the index is in bounds. Threads that share an element race on purpose.
    unsafe { out.store(i / share, i) }; //@ shared store
}

#[test]
fn two_threads_store_to_one_global_element() {
    let mut out = [0; 64];
    run_with(all(), line(1, 64), Stores { share: 1, out: slice_mut(&mut out) }).unwrap();
    let kernel = Stores { share: 2, out: slice_mut(&mut out) };
    let words = ["store at", &at("shared store"), "store of the same bytes", &at("shared store")];
    let fault = report(line(1, 64), kernel, &words);
    assert_eq!(fault.at.thread, [1, 0, 0]);
}

/// Thread 0 of block `writer` stores to the counter that all threads add to.
#[kernel(dims(1))]
unsafe fn counts(writer: u32, counter: SliceMut<u32>) {
    // SAFETY: the tests break the requirements on purpose.
    unsafe {
        if thread::block_idx_x() == writer && thread::rank() == 0 {
            counter.store(0, 0); //@ plain store
        }
        u32::atomic_add(counter.atomic(0), 1); //@ atomic
    }
}

#[test]
fn a_plain_store_and_the_atomics_of_other_blocks() {
    let mut counter = [0];
    run_with(all(), line(4, 32), Counts { writer: 9, counter: slice_mut(&mut counter) }).unwrap();
    let kernel = Counts { writer: 2, counter: slice_mut(&mut counter) };
    let words = ["store at", &at("plain store"), "earlier atomic", "block (1,0,0)", &at("atomic")];
    report(line(4, 32), kernel, &words);
}

/// Block 0 writes a value and sets a flag. Block 1 waits for the flag and reads the value.
#[kernel(dims(1))]
unsafe fn hands_over(ordered: u32, data: SliceMut<u32>, flag: SliceMut<u32>) {
    let (set, get) = match ordered {
        0 => (Ordering::Relaxed, Ordering::Relaxed),
        _ => (Ordering::Release, Ordering::Acquire),
    };
    // SAFETY: the tests break the requirements on purpose.
    unsafe {
        if thread::block_idx_x() == 0 {
            data.store(0, 42); //@ producer
            u32::store::<Device>(flag.atomic(0), 1, set);
        } else {
            while u32::load::<Device>(flag.atomic(0), get) == 0 {}
            data.store(1, data.load(0)); //@ consumer
        }
    }
}

#[test]
fn a_producer_and_a_consumer_without_an_order() {
    let (mut data, mut flag) = ([0; 2], [0]);
    let mut kernel =
        HandsOver { ordered: 1, data: slice_mut(&mut data), flag: slice_mut(&mut flag) };
    run_with(all(), line(2, 1), kernel).unwrap();
    assert_eq!(data, [42, 42]);
    flag = [0];
    kernel = HandsOver { ordered: 0, data: slice_mut(&mut data), flag: slice_mut(&mut flag) };
    let words = ["load at", &at("consumer"), "store", "block (0,0,0)", &at("producer")];
    report(line(2, 1), kernel, &words);
}

/// Block 1 panics instead of setting the flag that block 0 waits for.
#[kernel(dims(1))]
unsafe fn abandons(flag: SliceMut<u32>) {
    if thread::block_idx_x() == 1 {
        panic!("no value"); //@ panic
    }
    // SAFETY: the access is in bounds and atomic.
    unsafe { while u32::load::<Device>(flag.atomic(0), Ordering::Acquire) == 0 {} }
}

#[test]
fn a_panic_ends_the_blocks_that_wait_for_it() {
    let begun = Instant::now();
    let mut flag = [0];
    let checks = Checks { limit: Some(Duration::from_secs(60)), ..all() };
    let fault = run_with(checks, line(2, 1), Abandons { flag: slice_mut(&mut flag) }).unwrap_err();
    let text = fault.to_string();
    assert!(text.contains("block (1,0,0)") && text.contains(&at("panic")), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

unsafe fn lock(at: *mut u32) {
    let (won, lost) = (Ordering::Acquire, Ordering::Relaxed);
    // SAFETY: the caller passes the address of a lock.
    unsafe { while u32::compare_exchange::<Device>(at, 0, 1, won, lost).is_err() {} } //@ lock
}

unsafe fn unlock(at: *mut u32, order: Ordering) {
    // SAFETY: the caller passes the address of a lock.
    unsafe { u32::store::<Device>(at, 0, order) };
}

/// Every thread adds 1 to a global and to a shared sum, under a lock.
#[kernel(dims(1))]
unsafe fn locked_sum(releases: u32, locks: SliceMut<u32>, sum: SliceMut<u32>) {
    let own = shared_array![u32; 1];
    // SAFETY: the lock orders the accesses if `releases` is not 0.
    unsafe {
        if thread::rank() == 0 {
            own.store(0, 0);
        }
        thread::sync_threads();
        lock(locks.atomic(0));
        sum.store(0, sum.load(0) + 1); //@ sum
        own.store(0, own.load(0) + 1);
        unlock(locks.atomic(0), if releases == 0 { Ordering::Relaxed } else { Ordering::Release });
        thread::sync_threads();
        assert_eq!(own.load(0), 64);
    }
}

#[test]
fn a_lock_orders_the_threads_of_a_warp() {
    let (mut locks, mut sum) = ([0], [0]);
    let kernel = LockedSum { releases: 1, locks: slice_mut(&mut locks), sum: slice_mut(&mut sum) };
    run_with(all(), line(4, 64), kernel).unwrap();
    assert_eq!(sum, [256]);
    let kernel = LockedSum { releases: 0, locks: slice_mut(&mut locks), sum: slice_mut(&mut sum) };
    report(line(4, 64), kernel, &["global memory race", &at("sum"), "thread (0,0,0)", &at("sum")]);
}

/// Even and odd threads take two locks in different orders.
#[kernel(dims(1))]
unsafe fn two_locks(locks: SliceMut<u32>) {
    // SAFETY: the accesses are in bounds and atomic.
    unsafe {
        let (won, lost) = (Ordering::Acquire, Ordering::Relaxed);
        let (a, b) = (locks.atomic(0), locks.atomic(1));
        if thread::rank().is_multiple_of(2) {
            lock(a);
            thread::nanosleep(1);
            while u32::compare_exchange::<Device>(b, 0, 1, won, lost).is_err() {} //@ wait for b
        } else {
            lock(b);
            thread::nanosleep(1);
            while u32::compare_exchange::<Device>(a, 0, 1, won, lost).is_err() {} //@ wait for a
        }
    }
}

#[test]
fn a_deadlock_of_two_locks() {
    let mut locks = [0; 2];
    let kernel = TwoLocks { locks: slice_mut(&mut locks) };
    let words = ["endless loop", &at("wait for b"), "thread (1,0,0) waits at", &at("wait for a")];
    report(line(1, 2), kernel, &words);
}

/// Halves a number until it is negative, which it never is.
#[kernel(dims(1))]
unsafe fn never_negative(mode: u32) {
    let mut rest = 64_i32;
    while rest >= 0 {
        rest >>= 1;
        match mode {
            0 => thread::sync_threads(), //@ barrier of the loop
            // SAFETY: all lanes take part.
            1 => _ = unsafe { warp::warp_vote_any(FULL_MASK, true) }, //@ vote of the loop
            _ => {}
        }
    }
}

#[test]
fn endless_loops_with_barriers_and_votes() {
    report(line(1, 64), NeverNegative { mode: 0 }, &["endless loop", &at("barrier of the loop")]);
    report(line(2, 64), NeverNegative { mode: 1 }, &["endless loop", &at("vote of the loop")]);
    report(line(2, 64), NeverNegative { mode: 2 }, &["endless loop", STOPPED]);
}

/// Waits for another thread by plain loads, which no thread of a GPU is certain to see.
#[kernel(dims(1))]
unsafe fn plain_wait(out: SliceMut<u32>) {
    let flag = shared_array![u32; 1];
    // SAFETY: the accesses race on purpose.
    unsafe {
        if thread::rank() == 0 {
            flag.store(0, 0);
            while flag.load(0) == 0 {} //@ plain wait
            out.store(0, 1);
        }
        flag.store(0, 1);
    }
}

#[test]
fn a_wait_by_plain_loads() {
    let mut out = [0];
    let kernel = PlainWait { out: slice_mut(&mut out) };
    report(line(1, 64), kernel, &["endless loop", &at("plain wait")]);
}

#[kernel(dims(1))]
unsafe fn left_neighbour(input: Slice<u32>, out: SliceMut<u32>) {
    let i = thread::index_1d();
    // SAFETY: thread 0 breaks the requirement on purpose.
    unsafe { out.store(i, input.load(i.wrapping_sub(1))) }; //@ negative
}

#[test]
fn an_index_that_wraps_below_zero() {
    let (input, mut out) = ([1; 64], [0; 64]);
    let kernel = LeftNeighbour { input: slice(&input), out: slice_mut(&mut out) };
    report(
        line(1, 64),
        kernel,
        &["load of Slice at index 4294967295, but the size is 64", &at("negative")],
    );
}

#[cfg(debug_assertions)]
#[kernel(dims(1))]
unsafe fn before(out: SliceMut<u32>) {
    // SAFETY: the index is in bounds.
    unsafe { out.store(thread::index_1d(), thread::index_1d() - 1) }; //@ overflow
}

#[cfg(debug_assertions)]
#[test]
fn an_index_that_overflows() {
    let mut out = [0; 64];
    let kernel = Before { out: slice_mut(&mut out) };
    report(line(1, 64), kernel, &["attempt to subtract with overflow", &at("overflow")]);
}

thread_local!(static KEPT: std::cell::Cell<Option<SliceMut<u32>>> = const { std::cell::Cell::new(None) });

/// Keeps a slice for a later launch, or uses the one of an earlier launch.
#[kernel(dims(1))]
fn keeps(keep: u32, out: SliceMut<u32>) {
    if keep != 0 {
        KEPT.set(Some(out));
    } else if let Some(kept) = KEPT.get() {
        kept.set(thread::unique_1d(), 1); //@ stale
    }
}

#[test]
fn a_handle_of_an_earlier_launch() {
    let mut out = [0];
    run_with(all(), line(1, 1), Keeps { keep: 1, out: slice_mut(&mut out) }).unwrap();
    let kernel = Keeps { keep: 0, out: slice_mut(&mut out) };
    report(line(1, 1), kernel, &["this SliceMut belongs to another launch", &at("stale")]);
}

#[kernel(dims(1))]
fn traps() {
    trap() //@ trap
}

#[test]
fn a_trap_has_a_place() {
    report(line(1, 1), Traps {}, &["trapped at", &at("trap")]);
}

/// Writes beyond the end of a shared array by a raw pointer, or copies beyond a buffer.
#[kernel(dims(1))]
unsafe fn raw_pointers(copy: u32, buffer: SliceMut<u32>) {
    let tile = shared_array![u32; 64];
    // SAFETY: the accesses leave the memory on purpose.
    unsafe {
        if copy == 0 {
            for i in 0..100_000 {
                tile.as_mut_ptr().add(i).write_volatile(1);
            }
        } else {
            let start = buffer.atomic(0);
            start.add(100_000).copy_from_nonoverlapping(start, copy as usize);
            // Without a last statement, `memcpy` could be a tail call, and the backtrace would lack
            // this function.
            core::hint::black_box(start);
        }
    }
}

#[test]
fn raw_pointers_that_leave_their_memory() {
    let bytes = 4096;
    let memory = cuda_std::cpu::memory::allocate(bytes).unwrap();
    // SAFETY: the memory has this size and is zeroed.
    let elements = unsafe { core::slice::from_raw_parts_mut(memory.cast::<u32>(), bytes / 4) };
    for (copy, words) in [
        (0, "256 bytes after the start of a shared array of 256 bytes"),
        (1000, "400000 bytes after the start of an allocation of 4096 bytes"),
    ] {
        let kernel = RawPointers { copy, buffer: slice_mut(elements) };
        let fault = report(line(1, 1), kernel, &["invalid address", words, STOPPED]);
        assert!(matches!(fault.kind, FaultKind::InvalidAddress { .. }), "{fault}");
    }
    // SAFETY: nothing uses the memory any longer.
    unsafe { cuda_std::cpu::memory::free(memory, bytes) };
}
