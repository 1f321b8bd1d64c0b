//! Checks that the CPU reports races on shared memory, and that it reports no race if a barrier orders the accesses.

use conformance::faults::*;
use cuda_std::cpu::AccessKind::{self, Atomic, Load, Store};
use cuda_std::cpu::{Fault, FaultKind};

use crate::faults::{NOBODY, fault, line, message, run, stream, zeros};

/// Checks that the fault is a race between two accesses to shared memory. Returns the kind of the reported access, the
/// kind and the thread of the earlier access, and the byte offset in the array.
#[track_caller]
fn race(fault: &Fault) -> (AccessKind, AccessKind, u32, usize) {
    match &fault.kind {
        FaultKind::SharedRace { access, other_access, other, offset, array, .. } => {
            assert!(array.starts_with("cuda_std_shared_conformance_faults_"), "{array}");
            (*access, *other_access, *other, *offset)
        }
        other => panic!("not a race: {other}"),
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn a_read_without_a_barrier() {
    let stream = stream();
    let mut out = zeros(&stream, 256);
    let mut kernel = RaceWithoutBarrier { out: out.view_mut(), lane_mask: 1 };
    // Thread 0 reads element 1, which thread 1 then writes.
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [1, 0, 0]);
    assert_eq!(race(&found), (Store, Load, 0, 4));
    let text = message(&found);
    let (before, name) = text.split_once("cuda_std_shared_conformance_faults_").unwrap();
    assert_eq!(
        before,
        "kernel `race_without_barrier`, block (0,0,0) thread (1,0,0): shared memory race: \
         store of byte 4 of "
    );
    let (_, after) = name.split_once(' ').unwrap();
    assert_eq!(
        after,
        "at faults.rs races with an earlier load by thread 0 at faults.rs, with no barrier between \
         them; call `sync_threads` between the two accesses, in all threads and in each round of a loop"
    );
    // Each access has its own line.
    let FaultKind::SharedRace { place, other_place, .. } = found.kind else { panic!("{found}") };
    assert_ne!(place.line(), other_place.line(), "{found}");
    kernel.lane_mask = 33;
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [32, 0, 0]);
    assert_eq!(race(&found), (Store, Load, 1, 128));
    kernel.lane_mask = 0;
    run(&stream, &line(4, 64), &kernel).unwrap();
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn a_read_after_sync_warp() {
    let stream = stream();
    let mut out = zeros(&stream, 256);
    let mut kernel = RaceWithSyncWarp { out: out.view_mut(), lane_mask: 0 };
    for lane_mask in [0, 1, 31] {
        kernel.lane_mask = lane_mask;
        run(&stream, &line(2, 128), &kernel).unwrap();
    }
    // Thread 0 reads element 32, which a thread of another warp wrote. `sync_warp` does not wait for that warp.
    kernel.lane_mask = 32;
    let found = fault(&stream, &line(1, 128), &kernel, [0; 3], [0, 0, 0]);
    assert_eq!(race(&found), (Load, Store, 32, 128));
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn a_read_after_a_barrier() {
    let stream = stream();
    let mut out = zeros(&stream, 256);
    for lane_mask in [0, 1, 32, 127] {
        let kernel = RaceWithBarrier { out: out.view_mut(), lane_mask };
        run(&stream, &line(2, 128), &kernel).unwrap();
    }
    let expected: Vec<u32> = (0..256).map(|i| (i % 128) ^ 127).collect();
    assert_eq!(out.download(&stream).unwrap(), expected);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn two_writers() {
    let stream = stream();
    let mut kernel = RaceOfWriters { guilty: 50, barrier: 0 };
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [50, 0, 0]);
    assert_eq!(race(&found), (Store, Store, 0, 28));
    kernel.barrier = 1;
    run(&stream, &line(1, 64), &kernel).unwrap();
    // Repeated writes to an element by the same thread are no race.
    (kernel.guilty, kernel.barrier) = (0, 0);
    run(&stream, &line(1, 64), &kernel).unwrap();
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn atomics_race_with_plain_accesses_only() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = RaceWithAtomic { guilty: NOBODY, out: out.view_mut() };
    run(&stream, &line(2, 64), &kernel).unwrap();
    for guilty in [1, 63] {
        kernel.guilty = guilty;
        let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [guilty, 0, 0]);
        assert_eq!(race(&found), (Load, Atomic, guilty - 1, 8));
    }
    // If thread 0 makes the plain access, this access runs before the atomic accesses of the other threads.
    kernel.guilty = 0;
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [1, 0, 0]);
    assert_eq!(race(&found), (Atomic, Load, 0, 8));
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn a_reader_of_another_warp_is_not_forgotten() {
    let stream = stream();
    let mut out = zeros(&stream, 64);
    let mut kernel = RaceWithOldReader { guilty: 2, out: out.view_mut() };
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [2, 0, 0]);
    assert_eq!(race(&found), (Store, Load, 40, 0));
    kernel.guilty = NOBODY;
    run(&stream, &line(1, 64), &kernel).unwrap();
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the race detector runs only in debug builds")]
fn sync_warp_orders_the_lanes_of_its_mask_only() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = RaceWithPartialSync { guilty: 5, out: out.view_mut() };
    let found = fault(&stream, &line(1, 32), &kernel, [0; 3], [5, 0, 0]);
    assert_eq!(race(&found), (Store, Load, 0, 0));
    kernel.guilty = 1;
    run(&stream, &line(1, 32), &kernel).unwrap();
}
