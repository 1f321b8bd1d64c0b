//! Checks that the CPU reports every fault in `conformance::faults` with the right kind, kernel, block and thread. The
//! same kernels must pass when their argument disables the fault.
//!
//! These tests do not run on a GPU, where the faults are undefined behaviour. `planted.rs` tests
//! compute-sanitizer there.

mod barrier;
mod bounds;
mod global;
mod memory;
mod pipeline;
mod progress;
mod race;
mod stop;
mod warp;

use std::panic::Location;

use bytemuck::Pod;
use cuda_std::cpu::{Fault, FaultKind, ThreadId};
use cuda_std::launch::Kernel;
use cust::typed::{Buffer, Device, ErrorKind, LaunchConfig, Stream};

/// An argument for the index of the thread that causes the fault. No thread has this index, so the kernel has no fault.
const NOBODY: u32 = u32::MAX;

fn stream() -> Stream {
    Device::simulator().stream().unwrap()
}

fn zeros<T: Pod>(stream: &Stream, len: u32) -> Buffer<T> {
    Buffer::new(stream.device(), len).unwrap()
}

/// Returns a launch configuration with one dimension: `blocks` blocks of `block` threads.
fn line(blocks: u32, block: u32) -> LaunchConfig {
    shape([blocks, 1, 1], [block, 1, 1])
}

fn shape(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

/// Runs a kernel and returns its fault, if any.
fn run<K: Kernel>(stream: &Stream, config: &LaunchConfig, kernel: &K) -> Result<(), Fault> {
    // SAFETY: the kernels in `conformance::faults` are unsound, but the CPU stops each of them before an invalid access
    // or a data race happens.
    match unsafe { stream.launch_unchecked(config, kernel) } {
        Ok(()) => Ok(()),
        Err(e) => match e.kind {
            ErrorKind::Fault(fault) => Err(*fault),
            other => panic!("not a fault: {other}"),
        },
    }
}

/// Runs a kernel that has a fault, checks the fault's kernel and thread, and returns the fault.
#[track_caller]
fn fault<K: Kernel>(
    stream: &Stream,
    config: &LaunchConfig,
    kernel: &K,
    block: [u32; 3],
    thread: [u32; 3],
) -> Fault {
    let fault = run(stream, config, kernel).expect_err("the CPU reported no fault");
    assert_eq!(fault.kernel, K::ENTRY.name);
    assert_eq!(fault.at, ThreadId { block, thread }, "{fault}");
    fault
}

/// Returns the fault's message without the folders, lines and columns of source locations.
fn message(fault: &Fault) -> String {
    let mut text = fault.to_string();
    for place in places(&fault.kind) {
        let (line, column) = (place.line(), place.column());
        text = text.replace(&format!("{}:{line}:{column}", place.file()), &file(place));
    }
    text
}

/// Returns the name of a location's file. Omits the folder, because its path depends on the folder in which cargo runs.
fn file(place: &Location<'_>) -> String {
    place.file().rsplit(['/', '\\']).next().unwrap().to_owned()
}

fn places(kind: &FaultKind) -> Vec<&'static Location<'static>> {
    use cuda_std::cpu::Elsewhere;
    match kind {
        FaultKind::BarrierDivergence { barrier, others, .. } => match others {
            Elsewhere::Waiting(place) => vec![barrier, place],
            Elsewhere::Returned(_) => vec![barrier],
        },
        FaultKind::SharedRace { place, other_place, .. }
        | FaultKind::GlobalRace { place, other_place, .. } => vec![place, other_place],
        FaultKind::WarpDivergence { place, others: Some(Elsewhere::Waiting(other)), .. } => {
            vec![place, other]
        }
        FaultKind::WarpDivergence { place, .. }
        | FaultKind::Trap { place }
        | FaultKind::StaleHandle { place, .. }
        | FaultKind::OutOfBounds { place, .. }
        | FaultKind::Uninitialised { place, .. }
        | FaultKind::Misaligned { place, .. } => vec![place],
        _ => vec![],
    }
}
