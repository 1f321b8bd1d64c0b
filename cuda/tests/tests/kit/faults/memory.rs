//! Checks that the CPU reports reads of unwritten shared memory, misaligned accesses, and raw pointers that leave the
//! memory of a buffer.

use conformance::faults::*;
use cuda_std::cpu::{AccessKind, FaultKind};
use cust::typed::{Buffer, Image};

use crate::faults::{NOBODY, fault, file, line, message, run, stream, zeros};

#[test]
#[cfg_attr(not(debug_assertions), ignore = "shared memory is checked only in debug builds")]
fn a_read_of_unwritten_shared_memory() {
    let stream = stream();
    let mut out = zeros(&stream, 64);
    let mut kernel = Unwritten { guilty: 40, out: out.view_mut() };
    let found = fault(&stream, &line(2, 64), &kernel, [0; 3], [40, 0, 0]);
    let FaultKind::Uninitialised { access: AccessKind::Load, offset: 160, place, .. } = found.kind
    else {
        panic!("{found}")
    };
    assert_eq!(file(place), "memory.rs");
    kernel.guilty = NOBODY;
    run(&stream, &line(2, 64), &kernel).unwrap();
}

#[test]
fn a_pointer_beyond_its_buffer() {
    let stream = stream();
    let mut data: Buffer<u32> = zeros(&stream, 1000);
    // Buffers end at a page without access, and begin after one. Memory beyond these pages may belong to something
    // else.
    for (access, offset) in [(0, 4100), (1, 4096), (2, 8188), (2, -4), (1, -4096)] {
        let mut kernel = RawAccess { data: data.view_mut(), access, guilty: 37, offset };
        let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [37, 0, 0]);
        assert!(matches!(found.kind, FaultKind::InvalidAddress { .. }), "{found}");
        if offset == 4096 {
            let text = message(&found);
            assert!(
                text.contains("4096 bytes after the start of an allocation of 4096 bytes"),
                "{text}"
            );
        }
        kernel.offset = 3996;
        run(&stream, &line(1, 64), &kernel).unwrap();
    }
    assert_eq!(data.download(&stream).unwrap()[999], 1);
}

#[test]
fn a_misaligned_access() {
    let stream = stream();
    let mut data = zeros(&stream, 4);
    let kernel = RawAccess { data: data.view_mut(), access: 2, guilty: 5, offset: 2 };
    let found = fault(&stream, &line(1, 32), &kernel, [0; 3], [5, 0, 0]);
    let FaultKind::Misaligned { access: AccessKind::Atomic, align: 4, place, .. } = found.kind
    else {
        panic!("{found}")
    };
    assert_eq!(file(place), "memory.rs");

    let image: Image<u32> = Image::new(stream.device(), 8, 1).unwrap();
    let mut out = zeros(&stream, 1);
    let mut kernel = WideAccess { view: image.view(), out: out.view_mut(), guilty: 5, x: 3 };
    let found = fault(&stream, &line(1, 32), &kernel, [0; 3], [5, 0, 0]);
    assert!(matches!(found.kind, FaultKind::Misaligned { align: 8, .. }), "{found}");
    kernel.x = 4;
    run(&stream, &line(1, 32), &kernel).unwrap();
}
