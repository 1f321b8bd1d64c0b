//! Checks that the CPU reports barriers that not all threads of a block reach.

use conformance::faults::{BarrierAfterReturn, BarrierInBranch, BarrierTwice};
use cuda_std::cpu::{Elsewhere, FaultKind};

use crate::faults::{NOBODY, fault, file, line, message, run, shape, stream, zeros};

#[test]
fn some_threads_have_returned() {
    let stream = stream();
    let kernel = BarrierAfterReturn { guilty: 150 };
    // The barrier is reached by all threads of blocks 0 and 1, by 22 threads of block 2, and by no thread of block 3.
    let fault = fault(&stream, &line(4, 64), &kernel, [2, 0, 0], [0, 0, 0]);
    let FaultKind::BarrierDivergence { waiting, threads, barrier, others, first } = &fault.kind
    else {
        panic!("{fault}");
    };
    assert_eq!((*waiting, *threads), (22, 64));
    assert_eq!((*others, *first), (Elsewhere::Returned(42), [22, 0, 0]));
    assert_eq!(file(barrier), "faults.rs");
    assert_eq!(
        message(&fault),
        "kernel `barrier_after_return`, block (2,0,0) thread (0,0,0): barrier divergence: \
         22 of 64 threads wait at faults.rs, 42 have returned, the first is thread (22,0,0); all threads of a \
         block must reach the same barrier"
    );
}

#[test]
fn nobody_has_returned() {
    let kernel = BarrierAfterReturn { guilty: NOBODY };
    run(&stream(), &line(4, 64), &kernel).unwrap();
    // All threads of blocks 2 and 3 return before the barrier. This is allowed, because no thread of these blocks
    // waits.
    let kernel = BarrierAfterReturn { guilty: 128 };
    run(&stream(), &line(4, 64), &kernel).unwrap();
}

#[test]
fn threads_wait_at_two_barriers() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let kernel = BarrierTwice { first: 60, out: out.view_mut() };
    let fault = fault(&stream, &shape([1, 1, 1], [8, 4, 2]), &kernel, [0; 3], [0; 3]);
    let FaultKind::BarrierDivergence {
        waiting: 60,
        threads: 64,
        barrier,
        others: Elsewhere::Waiting(other),
        ..
    } = &fault.kind
    else {
        panic!("{fault}");
    };
    assert!(barrier.line() < other.line());
    assert_eq!(
        message(&fault),
        "kernel `barrier_twice`, block (0,0,0) thread (0,0,0): barrier divergence: \
         60 of 64 threads wait at faults.rs, others wait at faults.rs, the first is thread (4,3,1); all threads \
         of a block must reach the same barrier"
    );
}

#[test]
fn a_block_may_take_either_barrier_together() {
    let stream = stream();
    for first in [0, 64] {
        let mut out = zeros(&stream, 128);
        let kernel = BarrierTwice { first, out: out.view_mut() };
        run(&stream, &line(2, 64), &kernel).unwrap();
    }
}

#[test]
fn a_barrier_stands_in_a_divergent_branch() {
    let stream = stream();
    let fault = fault(
        &stream,
        &shape([3, 1, 1], [16, 2, 1]),
        &BarrierInBranch { block: 1 },
        [1, 0, 0],
        [0, 0, 0],
    );
    let FaultKind::BarrierDivergence {
        waiting: 16,
        threads: 32,
        others: Elsewhere::Returned(16),
        ..
    } = fault.kind
    else {
        panic!("{fault}");
    };
    run(&stream, &line(3, 32), &BarrierInBranch { block: 3 }).unwrap();
}
