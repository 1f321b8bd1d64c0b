//! Checks that the CPU reports out-of-bounds accesses to every kind of memory.

use conformance::faults::*;
use cuda_std::cpu::{AccessKind, FaultKind, Index};
use cuda_std::launch::Kernel;
use cust::typed::{Image, LaunchConfig, Stream};

use crate::faults::{NOBODY, fault, file, message, run, shape, stream, zeros};

/// The index of the thread that causes the fault. In a grid of 2×2 blocks of 6×4 threads, thread 77 is the thread with
/// rank 5 in block 3.
const GUILTY: u32 = 77;
const BLOCK: [u32; 3] = [1, 1, 0];
const THREAD: [u32; 3] = [5, 0, 0];

fn config() -> LaunchConfig {
    shape([2, 2, 1], [6, 4, 1]).with_dynamic_shared(40)
}

/// Checks that the CPU reports the access of thread `GUILTY` with the right kind, index and size, and that the message
/// contains `words`.
#[track_caller]
fn check<K: Kernel>(
    stream: &Stream,
    kernel: &K,
    access: AccessKind,
    what: &'static str,
    [index, extent]: [Index; 2],
    words: &str,
) {
    let fault = fault(stream, &config(), kernel, BLOCK, THREAD);
    let FaultKind::OutOfBounds { place, .. } = fault.kind else { panic!("{fault}") };
    assert_eq!(fault.kind, FaultKind::OutOfBounds { access, place, what, index, extent });
    assert_eq!(file(place), "faults.rs");
    let thread = "block (1,1,0) thread (5,0,0)";
    let expected =
        format!("kernel `{}`, {thread}: out of bounds: {words}, at faults.rs", K::ENTRY.name);
    assert_eq!(message(&fault), expected);
}

fn linear(index: u64, extent: u64) -> [Index; 2] {
    [Index::Linear(index), Index::Linear(extent)]
}

fn pixel(index: (u32, u32)) -> [Index; 2] {
    [Index::Pixel(index.0, index.1), Index::Pixel(9, 5)]
}

/// Positions outside an image of 9×5 elements: three just outside and one far away. Each has the text with which the
/// message states it.
const OUTSIDE: [((u32, u32), &str); 4] =
    [((9, 0), "(9,0)"), ((0, 5), "(0,5)"), ((9, 5), "(9,5)"), ((u32::MAX, 4), "(4294967295,4)")];

#[test]
fn view() {
    let stream = stream();
    let image = Image::<u32>::new(stream.device(), 9, 5).unwrap();
    let mut out = zeros(&stream, 1);
    for ((x, y), at) in OUTSIDE {
        let kernel = ViewLoad { view: image.view(), out: out.view_mut(), guilty: GUILTY, x, y };
        let words = format!("load of View at index {at}, but the size is (9,5)");
        check(&stream, &kernel, AccessKind::Load, "View", pixel((x, y)), &words);
    }
    let kernel = ViewLoad { view: image.view(), out: out.view_mut(), guilty: GUILTY, x: 8, y: 4 };
    run(&stream, &config(), &kernel).unwrap();
}

#[test]
fn column() {
    let stream = stream();
    let image = Image::<u32>::new(stream.device(), 9, 5).unwrap();
    let mut out = zeros(&stream, 1);
    let mut kernel = ColumnLoad { view: image.view(), out: out.view_mut(), guilty: GUILTY, i: 4 };
    let words = "load of ColumnView at index 4, but the size is 4";
    check(&stream, &kernel, AccessKind::Load, "ColumnView", linear(4, 4), words);
    kernel.i = 3;
    run(&stream, &config(), &kernel).unwrap();
}

#[test]
fn view_mut() {
    let stream = stream();
    let mut image = Image::<u32>::new(stream.device(), 9, 5).unwrap();
    let mut out = zeros(&stream, 1);
    for ((x, y), at) in OUTSIDE {
        let kernel =
            ViewMutLoad { view: image.view_mut(), out: out.view_mut(), guilty: GUILTY, x, y };
        let words = format!("load of ViewMut at index {at}, but the size is (9,5)");
        check(&stream, &kernel, AccessKind::Load, "ViewMut", pixel((x, y)), &words);
        let kernel = ViewStore { view: image.view_mut(), guilty: GUILTY, x, y };
        let words = format!("store of ViewMut at index {at}, but the size is (9,5)");
        check(&stream, &kernel, AccessKind::Store, "ViewMut", pixel((x, y)), &words);
    }
    assert_eq!(image.download(&stream).unwrap(), [0; 45], "nothing was written");
    let kernel = ViewStore { view: image.view_mut(), guilty: GUILTY, x: 8, y: 4 };
    run(&stream, &config(), &kernel).unwrap();
    assert_eq!(image.download(&stream).unwrap()[44], 1);
}

#[test]
fn slice() {
    let stream = stream();
    let slice = zeros(&stream, 100);
    let mut out = zeros(&stream, 1);
    let mut kernel = SliceLoad { slice: slice.view(), out: out.view_mut(), guilty: GUILTY, i: 100 };
    let words = "load of Slice at index 100, but the size is 100";
    check(&stream, &kernel, AccessKind::Load, "Slice", linear(100, 100), words);
    kernel.i = 99;
    run(&stream, &config(), &kernel).unwrap();
}

#[test]
fn slice_mut() {
    let stream = stream();
    let mut slice = zeros(&stream, 100);
    let mut kernel = SliceStore { slice: slice.view_mut(), guilty: GUILTY, i: u32::MAX };
    let words = "store of SliceMut at index 4294967295, but the size is 100";
    let at = linear(4_294_967_295, 100);
    check(&stream, &kernel, AccessKind::Store, "SliceMut", at, words);
    kernel.i = 99;
    run(&stream, &config(), &kernel).unwrap();

    let mut kernel = SliceAtomic { slice: slice.view_mut(), guilty: GUILTY, i: 101 };
    let words = "atomic of SliceMut at index 101, but the size is 100";
    check(&stream, &kernel, AccessKind::Atomic, "SliceMut", linear(101, 100), words);
    kernel.i = 99;
    run(&stream, &config(), &kernel).unwrap();
    assert_eq!(slice.download(&stream).unwrap()[99], 2);
}

#[test]
fn shared() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let accesses = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
    for (access, kind) in (0..).zip(accesses) {
        let mut kernel = SharedAccess { access, out: out.view_mut(), guilty: GUILTY, i: 32 };
        let words = format!("{kind} of Shared at index 32, but the size is 32");
        check(&stream, &kernel, kind, "Shared", linear(32, 32), &words);
        kernel.i = 31;
        run(&stream, &config(), &kernel).unwrap();
    }
}

#[test]
fn dynamic_shared() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = DynamicLoad { out: out.view_mut(), guilty: GUILTY, i: 10 };
    let words = "load of Shared at index 10, but the size is 10";
    check(&stream, &kernel, AccessKind::Load, "Shared", linear(10, 10), words);
    kernel.i = 9;
    run(&stream, &config(), &kernel).unwrap();
}

#[test]
fn constant() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = ConstantLoad { out: out.view_mut(), guilty: GUILTY, i: 64 };
    let words = "load of constant at index 64, but the size is 64";
    check(&stream, &kernel, AccessKind::Load, "constant", linear(64, 64), words);
    kernel.i = 63;
    run(&stream, &config(), &kernel).unwrap();
    (kernel.i, kernel.guilty) = (64, NOBODY);
    run(&stream, &config(), &kernel).unwrap();
}
