//! One small kernel for each feature of `cuda_std`, and one for each kind of fault that the CPU
//! reports.
//!
//! The tests are in the package `kit-tests`, in the folder `tests/kit`:
//! - `conformance` runs everything except [`faults`], on the CPU and on a GPU if there is one.
//! - `faults` runs the faults on the CPU.
//! - `planted.rs` runs a few of the faults on a GPU, where compute-sanitizer must find them.
//!
//! The test `traffic` of this package profiles the kernels in [`traffic`].
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

extern crate alloc;

pub mod arguments;
pub mod atomics;
pub mod barrier;
pub mod bounds;
pub mod bytes;
pub mod faults;
pub mod float;
pub mod heap;
pub mod indices;
pub mod machine;
pub mod maths;
pub mod memory;
pub mod order;
pub mod pipeline;
pub mod program;
pub mod reduce;
pub mod shuffle;
pub mod tensor;
pub mod texture;
pub mod traffic;
pub mod vote;
pub mod warps;

use bytemuck::Pod;
use cuda_std::{Slice, thread};

/// Returns the number of threads per block.
#[inline(always)]
fn block_threads() -> u32 {
    let dim = thread::block_dim();
    dim.x * dim.y * dim.z
}

/// Returns the linear index of the thread in its grid. The threads of a block have consecutive
/// indices, ordered by rank. Blocks are ordered with x fastest.
#[inline(always)]
fn global_rank() -> u32 {
    let (block, grid) = (thread::block_idx(), thread::grid_dim());
    ((block.z * grid.y + block.y) * grid.x + block.x) * block_threads() + thread::rank()
}

/// Returns true if every warp of the block has 32 lanes, which warp operations with the full mask
/// require.
#[inline(always)]
fn whole_warps() -> bool {
    block_threads().is_multiple_of(cuda_std::warp::WARP_SIZE)
}

/// Returns whether every warp has 32 lanes, and either all or none of its lanes have an input
/// element. Each lane with an input element must also have an output element.
#[inline(always)]
fn holds_whole_warps(input: u32, out: u32) -> bool {
    whole_warps() && input.is_multiple_of(cuda_std::warp::WARP_SIZE) && input <= out
}

/// Returns element `at` of `input`, or zero if `at` is out of bounds.
#[inline(always)]
fn load_or_zero<T: Pod>(input: Slice<T>, at: u32) -> T {
    if at < input.len() {
        // SAFETY: `at` was just checked.
        unsafe { input.load(at) }
    } else {
        T::zeroed()
    }
}
