//! Checks that the CPU reports asynchronous copies whose destination is accessed too early.

use conformance::faults::*;
use cuda_std::cpu::AccessKind::{Load, Store};
use cuda_std::cpu::FaultKind;
use cust::typed::Buffer;

use crate::faults::{fault, file, line, run, stream, zeros};

#[test]
#[cfg_attr(not(debug_assertions), ignore = "shared memory is checked only in debug builds")]
fn a_copy_that_threads_do_not_wait_for() {
    let stream = stream();
    let numbers: Vec<u32> = (0..64).collect();
    let input = Buffer::from_slice(&stream, &numbers).unwrap();
    let mut out = zeros(&stream, 64);
    let mut kernel =
        CopyTooEarly { input: input.view(), out: out.view_mut(), other: 1, mistake: 1 };
    // Without a wait, the data has not arrived: thread 0 reads what thread 1 copies.
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [0; 3]);
    assert!(
        matches!(found.kind, FaultKind::Uninitialised { access: Load, offset: 4, .. }),
        "{found}"
    );
    assert!(found.to_string().contains("wait for the asynchronous copy"), "{found}");
    // Without a barrier after the wait, thread 1 copies to an element that thread 0 has read.
    kernel.mistake = 2;
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [1, 0, 0]);
    let FaultKind::SharedRace { access: Store, other_access: Load, other: 0, place, .. } =
        found.kind
    else {
        panic!("{found}")
    };
    assert_eq!(file(place), "pipeline.rs");
    // Without a barrier before the next copy, thread 0 starts to overwrite an element that thread 1
    // has yet to read, or has read.
    kernel.mistake = 3;
    let found = run(&stream, &line(1, 64), &kernel).unwrap_err();
    assert!(matches!(found.kind, FaultKind::SharedRace { .. }), "{found}");
    kernel.mistake = 0;
    run(&stream, &line(1, 64), &kernel).unwrap();
    let expected: Vec<u32> = numbers.iter().map(|i| i ^ 1).collect();
    assert_eq!(out.download(&stream).unwrap(), expected);
}
