//! Kernels that query machine properties, call fences and waits, and print.

use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space,
    convert_specific_address_space_to_generic, is_in_address_space,
};
use cuda_std::{cfg::ComputeCapability, mem, misc, prelude::*};

use crate::global_rank;

/// The first thread calls fences and waits, which have no visible effect, and writes the results of
/// these queries to `out`:
/// - the bytes of dynamic shared memory,
/// - whether the total size of shared memory includes the dynamic bytes and 256 static bytes,
/// - whether a shared array is in shared memory, and whether it is in global memory,
/// - whether `out` is in shared memory, and whether it is in global memory,
/// - whether a pointer is the same after conversion to an address space and back,
/// - whether the clock advances,
/// - whether the thread's lane is active,
/// - whether the architecture is at least compute capability 7.0, the first with independent thread
///   scheduling.
#[kernel]
pub fn machine(out: SliceMut<u32>) {
    let tile = shared_array![u32; 64];
    if global_rank() != 0 || out.len() < 10 {
        return;
    }
    // SAFETY: `out` has at least 10 elements, `tile` has 64, and only this thread writes. The
    // pointers point to elements of `tile` and `out`.
    unsafe {
        tile.store(0, 7);
        let start = misc::clock();
        thread::block_fence();
        thread::grid_fence();
        thread::device_fence();
        thread::system_fence();
        thread::nanosleep(1000);
        misc::profiler_counter(0);
        let (shared, global) = (tile.as_mut_ptr().cast_const(), out.atomic(0).cast_const());
        let address = convert_generic_to_specific_address_space(shared, AddressSpace::Shared);
        let back = convert_specific_address_space_to_generic(address, AddressSpace::Shared);
        let facts = [
            mem::dynamic_smem_size(),
            (mem::total_smem_size() >= mem::dynamic_smem_size() + 256).into(),
            is_in_address_space(shared, AddressSpace::Shared).into(),
            is_in_address_space(shared, AddressSpace::Global).into(),
            is_in_address_space(global, AddressSpace::Shared).into(),
            is_in_address_space(global, AddressSpace::Global).into(),
            (back == shared).into(),
            (misc::clock() > start).into(),
            warp::activemask() >> warp::lane_id() & 1,
            (ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute70).into(),
        ];
        for (i, fact) in (0..).zip(facts) {
            out.store(i, fact);
        }
    }
}

/// Each thread prints a line with its index and `to`.
#[kernel]
pub fn speak(to: u32) {
    println!("thread {} says hello to {to}", global_rank());
}
