//! Compares the simulator's profile with the counters of a GPU.
//!
//! The numbers below were measured with Nsight Compute 2025.3.1 on an H100 (driver 580), which ran
//! `examples/traffic.rs`. The simulator must be within 5 % of them. It counts exactly the same, so
//! the test requires equal numbers.

mod launches;

use cust::typed::profile::{Counts, KernelProfile, Operation};
use cust::typed::{Device, Profile};

use Operation::{GlobalAtomic, GlobalLoad, GlobalStore, SharedAtomic, SharedLoad, SharedStore};

/// The kernel, the operation, and the GPU's counts: requests and sectors of global memory (metrics
/// `l1tex__t_requests_pipe_lsu_mem_global_op_*` and `l1tex__t_sectors_…`), or wavefronts and bank
/// conflicts of shared memory (`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*` and
/// `l1tex__data_bank_conflicts_…`).
const MEASURED: &[(&str, Operation, [u64; 2])] = &[
    ("transpose_naive", GlobalLoad, [2_048, 8_192]),
    ("transpose_naive", GlobalStore, [2_048, 65_536]),
    ("transpose_tile", GlobalLoad, [2_048, 8_192]),
    ("transpose_tile", GlobalStore, [2_048, 8_192]),
    ("transpose_tile", SharedLoad, [65_536, 63_488]),
    ("transpose_tile", SharedStore, [2_048, 0]),
    ("transpose_padded", GlobalLoad, [2_048, 8_192]),
    ("transpose_padded", GlobalStore, [2_048, 8_192]),
    ("transpose_padded", SharedLoad, [2_048, 0]),
    ("transpose_padded", SharedStore, [2_048, 0]),
    ("matmul_tiles", GlobalLoad, [1_024, 4_096]),
    ("matmul_tiles", GlobalStore, [128, 512]),
    ("matmul_tiles", SharedLoad, [16_384, 0]),
    ("matmul_tiles", SharedStore, [4_608, 3_584]),
    ("histogram_weights", GlobalLoad, [626, 2_500]),
    ("histogram_weights", GlobalAtomic, [16, 64]),
    ("histogram_weights", SharedLoad, [16, 0]),
    ("histogram_weights", SharedStore, [16, 0]),
    ("histogram_weights", SharedAtomic, [1_101, 788]),
    ("sum_points", GlobalLoad, [471, 5_625]),
    ("sum_points", GlobalStore, [157, 625]),
    ("stencil", GlobalLoad, [1_360, 5_134]),
    ("stencil", GlobalStore, [272, 986]),
    ("reduce_strided", GlobalLoad, [128, 512]),
    ("reduce_strided", GlobalStore, [16, 16]),
    ("reduce_strided", SharedLoad, [1_520, 1_120]),
    ("reduce_strided", SharedStore, [880, 560]),
    ("sparse_rows", GlobalLoad, [1_090, 15_212]),
    ("sparse_rows", GlobalStore, [29, 113]),
    ("sum_rows", GlobalLoad, [402, 5_066]),
    ("sum_rows", GlobalStore, [8, 32]),
];

/// The kernel, the operation, and the GPU's number of executions by a lane (Nsight Compute's
/// "Predicated-On Thread Instructions Executed" of the instructions).
const LANES: &[(&str, Operation, u64)] = &[
    ("histogram_weights", SharedAtomic, 10_000),
    ("sum_points", GlobalLoad, 15_000),
    ("stencil", GlobalLoad, 33_320),
    ("stencil", GlobalStore, 6_664),
    ("reduce_strided", SharedLoad, 8_176),
    ("reduce_strided", SharedStore, 8_176),
    ("sparse_rows", GlobalLoad, 18_102),
    ("sum_rows", GlobalLoad, 7_234),
];

#[test]
fn the_profile_equals_the_counters_of_a_gpu() {
    let (result, profile) = Profile::record(|| launches::run(&Device::cpu()));
    result.expect("the kernels have no fault");
    let total = |kernel: &str, operation| profile.kernels[kernel].total(operation);
    for &(kernel, operation, measured) in MEASURED {
        let counts: Counts = total(kernel, operation);
        let counted = match operation {
            GlobalLoad | GlobalStore | GlobalAtomic => [counts.requests, counts.sectors],
            _ => [counts.wavefronts, counts.conflicts()],
        };
        assert_eq!(counted, measured, "{kernel}, {}", operation.name());
    }
    for &(kernel, operation, measured) in LANES {
        assert_eq!(total(kernel, operation).lanes, measured, "{kernel}, {}", operation.name());
    }
    // Every operation on memory is in the list.
    for (name, kernel) in &profile.kernels {
        let listed = |operation| MEASURED.iter().any(|row| (row.0, row.1) == (name, operation));
        let waits = [Operation::Barrier, Operation::WarpOperation];
        let is_complete = |kernel: &KernelProfile| {
            kernel
                .sites
                .keys()
                .all(|site| waits.contains(&site.operation) || listed(site.operation))
        };
        assert!(is_complete(kernel), "{name}");
    }
    assert_eq!(profile.kernels.len(), 10);
}
