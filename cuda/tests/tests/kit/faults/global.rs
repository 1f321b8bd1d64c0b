//! Checks that the CPU reports races on global memory if the launch asks for it, and no race where barriers, launches,
//! or fences and atomics order the accesses.

use conformance::faults::*;
use cuda_std::cpu::AccessKind::{self, Load, Store};
use cuda_std::cpu::{Fault, FaultKind, ThreadId};
use cust::typed::{Checks, Device, Stream};

use crate::faults::{line, message, run, zeros};

/// Returns a stream of a CPU device that checks global memory, with the order `seed`.
fn checked(seed: Option<u64>) -> Stream {
    Device::cpu_with(Checks { global: true, order: seed, ..Checks::BUILD }).stream().unwrap()
}

/// Checks that the fault is a race. Returns the access, the earlier access and the thread of the earlier access.
#[track_caller]
fn race(fault: &Fault) -> (AccessKind, AccessKind, ThreadId) {
    match &fault.kind {
        FaultKind::GlobalRace { access, other_access, other, .. } => {
            (*access, *other_access, *other)
        }
        other => panic!("not a race: {other}"),
    }
}

#[test]
fn a_sum_without_atomics() {
    let stream = checked(None);
    let mut sum = zeros(&stream, 1);
    let kernel = GlobalSum { mode: 0, sum: sum.view_mut() };
    let found = run(&stream, &line(1, 64), &kernel).unwrap_err();
    let first = ThreadId { block: [0; 3], thread: [0; 3] };
    assert_eq!((race(&found), found.at.thread), ((Load, Store, first), [1, 0, 0]));
    assert_eq!(
        message(&found),
        "kernel `global_sum`, block (0,0,0) thread (1,0,0): global memory race: load at global.rs races with an \
         earlier store of the same bytes by block (0,0,0) thread (0,0,0) at global.rs; the order of the threads is \
         undefined on a GPU; use an atomic, or separate the accesses by a barrier or a launch"
    );
    // Barriers order the threads of one block.
    let mut sum = zeros(&stream, 1);
    for mode in [1, 2] {
        run(&stream, &line(1, 64), &GlobalSum { mode, sum: sum.view_mut() }).unwrap();
    }
    assert_eq!(sum.download(&stream).unwrap(), [65]);
    // Barriers do not order the threads of two blocks.
    let found =
        run(&stream, &line(2, 64), &GlobalSum { mode: 2, sum: sum.view_mut() }).unwrap_err();
    assert_eq!((race(&found).0, found.at.block), (Load, [1, 0, 0]));
}

#[test]
fn without_the_check_the_sum_seems_right() {
    // The usual order of the CPU hides the race, which is why the check exists.
    let stream = Device::cpu_with(Checks::BUILD).stream().unwrap();
    let mut sum = zeros(&stream, 1);
    run(&stream, &line(1, 64), &GlobalSum { mode: 0, sum: sum.view_mut() }).unwrap();
    assert_eq!(sum.download(&stream).unwrap(), [64]);
}

#[test]
fn a_stencil_in_place() {
    for seed in [None, Some(1), Some(2)] {
        let stream = checked(seed);
        let mut row = zeros(&stream, 256);
        let found = run(&stream, &line(4, 64), &GlobalStencil { row: row.view_mut() }).unwrap_err();
        let (access, other_access, _) = race(&found);
        assert_ne!(access, other_access, "{found}");
        run(&stream, &line(1, 1), &GlobalStencil { row: row.view_mut() }).unwrap();
    }
}

/// Without the check, the result of the stencil depends on the order of the threads, so two seeds reveal the race.
#[test]
fn two_orders_give_two_results() {
    let result = |seed| {
        let device = Device::cpu_with(Checks { order: seed, ..Checks::BUILD });
        let stream = device.stream().unwrap();
        let mut row = cust::typed::Buffer::from_slice(&stream, &[1_u32; 256]).unwrap();
        run(&stream, &line(4, 64), &GlobalStencil { row: row.view_mut() }).unwrap();
        row.download(&stream).unwrap()
    };
    assert_eq!(result(Some(7)), result(Some(7)), "an order is repeatable");
    assert_ne!(result(None), result(Some(7)));
    assert_ne!(result(Some(7)), result(Some(8)));
}

#[test]
fn a_fence_and_an_atomic_order_blocks() {
    for seed in [None, Some(3), Some(4)] {
        let stream = checked(seed);
        let (mut parts, mut counter) = (zeros(&stream, 20), zeros(&stream, 1));
        let mut kernel =
            LastBlock { parts: parts.view_mut(), counter: counter.view_mut(), fences: 1 };
        run(&stream, &line(20, 32), &kernel).unwrap();
        kernel.fences = 0;
        let (mut parts_of_race, mut zero) = (zeros(&stream, 20), zeros(&stream, 1));
        let kernel =
            LastBlock { parts: parts_of_race.view_mut(), counter: zero.view_mut(), ..kernel };
        let found = run(&stream, &line(20, 32), &kernel).unwrap_err();
        assert_eq!((race(&found).0, race(&found).1), (Load, Store));
        assert_eq!(parts.download(&stream).unwrap()[0], 210);
    }
}
