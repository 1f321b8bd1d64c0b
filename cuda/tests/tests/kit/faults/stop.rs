//! Checks that the CPU reports kernels that trap or panic, and that a fault does not affect later launches.

use conformance::faults::{BarrierAfterReturn, PanicAt, PanicWithMessage, TrapAt};
use cuda_std::cpu::FaultKind;

use crate::faults::{NOBODY, fault, line, message, run, shape, stream, zeros};

#[test]
fn a_trap() {
    let stream = stream();
    let mut kernel = TrapAt { guilty: 100 };
    let config = shape([1, 3, 1], [4, 4, 4]);
    let found = fault(&stream, &config, &kernel, [0, 1, 0], [0, 1, 2]);
    assert!(matches!(found.kind, FaultKind::Trap { .. }));
    assert_eq!(
        message(&found),
        "kernel `trap_at`, block (0,1,0) thread (0,1,2): the kernel trapped at faults.rs"
    );
    kernel.guilty = NOBODY;
    run(&stream, &config, &kernel).unwrap();
}

#[test]
fn a_panic_of_the_language() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = PanicAt { guilty: 33, index: 4, out: out.view_mut() };
    let found = fault(&stream, &line(2, 32), &kernel, [1, 0, 0], [1, 0, 0]);
    let expected = "kernel `panic_at`, block (1,0,0) thread (1,0,0): panic: index out of bounds: the len \
                    is 4 but the index is 4, at ";
    assert!(message(&found).starts_with(expected), "{found}");
    kernel.index = 3;
    run(&stream, &line(2, 32), &kernel).unwrap();
    assert_eq!(out.download(&stream).unwrap(), [7]);
}

#[test]
fn a_panic_with_a_message() {
    let stream = stream();
    let found =
        fault(&stream, &line(2, 32), &PanicWithMessage { guilty: 63 }, [1, 0, 0], [31, 0, 0]);
    let FaultKind::Panic { text, place: Some(place) } = found.kind else { panic!("{found}") };
    assert_eq!(text, "planted at thread 63");
    assert!(place.contains("faults.rs:"), "{place}");
}

#[test]
fn the_next_launch_works_after_every_fault() {
    let stream = stream();
    for _ in 0..50 {
        run(&stream, &line(8, 64), &BarrierAfterReturn { guilty: 70 }).unwrap_err();
        run(&stream, &line(8, 64), &TrapAt { guilty: 400 }).unwrap_err();
        run(&stream, &line(8, 64), &BarrierAfterReturn { guilty: NOBODY }).unwrap();
    }
}
