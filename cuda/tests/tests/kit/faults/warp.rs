//! Checks that the CPU reports warp operations with a wrong mask: a mask with lanes that do not take part in the
//! operation, or a mask without the calling lane.

use conformance::faults::{LaneMissing, LaneMissingInShuffle, LaneOutsideMask, SyncOutsideMask};
use cuda_std::cpu::FaultKind;

use crate::faults::{NOBODY, fault, file, line, message, run, stream, zeros};

#[test]
fn a_lane_is_missing_at_sync_warp() {
    let stream = stream();
    let mut kernel = LaneMissing { guilty: 7 };
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [0, 0, 0]);
    let FaultKind::WarpDivergence { op: "sync_warp", place, mask: u32::MAX, missing: 0x80, .. } =
        found.kind
    else {
        panic!("{found}");
    };
    assert_eq!(file(place), "faults.rs");
    assert_eq!(
        message(&found),
        "kernel `lane_missing`, block (0,0,0) thread (0,0,0): warp divergence: \
         sync_warp at faults.rs waits for lanes 0x00000080 of mask 0xffffffff, 1 have returned; every lane of the mask must call it"
    );
    // If the lane that does not take part is in the second warp, the fault names the first lane of the second warp.
    kernel.guilty = 63;
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [32, 0, 0]);
    assert!(matches!(found.kind, FaultKind::WarpDivergence { missing: 0x8000_0000, .. }));
    kernel.guilty = NOBODY;
    run(&stream, &line(3, 64), &kernel).unwrap();
}

#[test]
fn a_warp_that_is_not_whole_lacks_lanes() {
    let kernel = LaneMissing { guilty: NOBODY };
    let found = fault(&stream(), &line(1, 40), &kernel, [0; 3], [32, 0, 0]);
    assert!(matches!(found.kind, FaultKind::WarpDivergence { missing: 0xffff_ff00, .. }));
}

#[test]
fn a_lane_is_missing_at_a_shuffle() {
    let stream = stream();
    let mut out = zeros(&stream, 32);
    let mut kernel = LaneMissingInShuffle { guilty: 0, out: out.view_mut() };
    let found = fault(&stream, &line(1, 32), &kernel, [0; 3], [1, 0, 0]);
    assert_eq!(
        message(&found),
        "kernel `lane_missing_in_shuffle`, block (0,0,0) thread (1,0,0): warp divergence: \
         exchange (shuffle, vote or reduction) at faults.rs waits for lanes 0x00000001 of mask \
         0xffffffff, 1 have returned; every lane of the mask must call it"
    );
    kernel.guilty = NOBODY;
    run(&stream, &line(1, 32), &kernel).unwrap();
}

#[test]
fn a_lane_calls_with_a_mask_that_lacks_it() {
    let stream = stream();
    let mut out = zeros(&stream, 1);
    let mut kernel = LaneOutsideMask { guilty: 35, out: out.view_mut() };
    let found = fault(&stream, &line(1, 64), &kernel, [0; 3], [35, 0, 0]);
    let FaultKind::WarpDivergence { mask: 0b11, missing: 0b1000, .. } = found.kind else {
        panic!("{found}");
    };
    kernel.guilty = NOBODY;
    run(&stream, &line(1, 64), &kernel).unwrap();
}

#[test]
fn a_lane_syncs_with_a_mask_that_lacks_it() {
    let stream = stream();
    let found = fault(&stream, &line(1, 64), &SyncOutsideMask { guilty: 5 }, [0; 3], [5, 0, 0]);
    let FaultKind::WarpDivergence { op: "sync_warp", mask: 1, missing: 0b10_0000, .. } = found.kind
    else {
        panic!("{found}");
    };
    run(&stream, &line(1, 64), &SyncOutsideMask { guilty: NOBODY }).unwrap();
}
