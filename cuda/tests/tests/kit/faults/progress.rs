//! Checks that threads which wait for other threads in a loop make progress, and that loops without an end are
//! reported.

use std::time::{Duration, Instant};

use conformance::faults::*;
use cuda_std::cpu::FaultKind;
use cust::typed::{Checks, Device, Stream};

use crate::faults::{NOBODY, file, line, run, zeros};

/// Returns a stream of a CPU device with a time limit of half a second.
fn limited() -> Stream {
    let limit = Some(Duration::from_millis(500));
    Device::cpu_with(Checks { limit, ..Checks::BUILD }).stream().unwrap()
}

#[test]
fn a_thread_waits_for_a_later_thread() {
    let stream = limited();
    let mut flags = zeros(&stream, 8);
    run(&stream, &line(8, 64), &Spin { mode: 0, flags: flags.view_mut() }).unwrap();
    assert_eq!(flags.download(&stream).unwrap(), [1; 8]);
}

#[test]
fn a_block_waits_for_a_later_block() {
    let stream = limited();
    let mut flags = zeros(&stream, 40);
    run(&stream, &line(40, 32), &Spin { mode: 1, flags: flags.view_mut() }).unwrap();
    assert_eq!(flags.download(&stream).unwrap(), [1; 40]);
}

#[test]
fn a_wait_that_nobody_ends() {
    let stream = limited();
    let mut flags = zeros(&stream, 1);
    let found = run(&stream, &line(1, 64), &Spin { mode: 2, flags: flags.view_mut() }).unwrap_err();
    let FaultKind::Endless { last: Some(place), .. } = found.kind else { panic!("{found}") };
    assert_eq!((found.at.thread, file(place)), ([0; 3], "progress.rs".to_owned()));
}

#[test]
fn a_loop_without_an_end() {
    let stream = limited();
    let mut out = zeros(&stream, 1);
    let begun = Instant::now();
    let kernel = Endless { guilty: 70, out: out.view_mut() };
    let found = run(&stream, &line(2, 64), &kernel).unwrap_err();
    assert!(matches!(found.kind, FaultKind::Endless { .. }), "{found}");
    assert_eq!((found.at.block, found.at.thread), ([1, 0, 0], [6, 0, 0]));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // The device is usable afterwards.
    run(&stream, &line(2, 64), &Endless { guilty: NOBODY, ..kernel }).unwrap();
}
