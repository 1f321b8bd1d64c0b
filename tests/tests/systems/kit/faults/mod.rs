//! Every mistake planted in `conformance::faults` is reported by the CPU: the right kind, kernel,
//! block and thread. The same kernels without the mistake pass, so that the report means something.
//!
//! Not on a GPU, where these are undefined: see `planted.rs`.

mod barrier;
mod bounds;
mod race;
mod stop;
mod warp;

use std::panic::Location;

use bytemuck::Pod;
use cuda_std::cpu::{Fault, FaultKind, ThreadId};
use cuda_std::launch::Kernel;
use panoweave::device::{Buffer, Device, ErrorKind, LaunchConfig, Stream};

/// A thread that no grid here has: nobody is guilty.
const NOBODY: u32 = u32::MAX;

fn stream() -> Stream {
    Device::cpu().stream().unwrap()
}

fn zeros<T: Pod>(stream: &Stream, len: u32) -> Buffer<T> {
    Buffer::new(stream.device(), len).unwrap()
}

/// Blocks of `block` threads in one dimension.
fn line(blocks: u32, block: u32) -> LaunchConfig {
    shape([blocks, 1, 1], [block, 1, 1])
}

fn shape(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

/// Runs a kernel that may be at fault.
fn run<K: Kernel>(stream: &Stream, config: &LaunchConfig, kernel: &K) -> Result<(), Fault> {
    // SAFETY: on the CPU every mistake is found before it does harm.
    match unsafe { stream.launch_unchecked(config, kernel) } {
        Ok(()) => Ok(()),
        Err(e) => match e.kind {
            ErrorKind::Fault(fault) => Err(*fault),
            other => panic!("not a fault: {other}"),
        },
    }
}

/// The fault that a kernel runs into, once its kernel and thread are as expected.
#[track_caller]
fn fault<K: Kernel>(
    stream: &Stream,
    config: &LaunchConfig,
    kernel: &K,
    block: [u32; 3],
    thread: [u32; 3],
) -> Fault {
    let fault = run(stream, config, kernel).expect_err("the mistake was not found");
    assert_eq!(fault.kernel, K::NAME);
    assert_eq!(fault.at, ThreadId { block, thread }, "{fault}");
    fault
}

/// The message without the line and column of a place in the source.
fn message(fault: &Fault) -> String {
    let mut text = fault.to_string();
    for place in places(&fault.kind) {
        let (line, column) = (place.line(), place.column());
        text = text.replace(&format!("{}:{line}:{column}", place.file()), &file(place));
    }
    text
}

/// The file's name without the folder: it depends on where cargo was called.
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
        FaultKind::WarpDivergence { place, .. } => vec![place],
        _ => vec![],
    }
}
