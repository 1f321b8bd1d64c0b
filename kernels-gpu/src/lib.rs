//! The GPU kernels, one module per system. The CPU runs the same kernels as ordinary functions.
//!
//! The crate is compiled twice: for `nvptx64-nvidia-cuda` by `cuda_builder` into PTX, and for the host. On the host,
//! each kernel is a function with a launch type (for example `find_nearest` with `FindNearest`). The crate neither
//! allocates device memory nor launches kernels; `host/src/ops` and `host/src/warp` do that.
//!
//! # Levels
//!
//! A module imports only modules of its own level and of lower-numbered levels. `tests/tests/builds/levels.rs` checks
//! this rule.
//!
//! 1. `unroll`: unrolled loops; `cpu`: vectors and cores of a CPU
//! 2. `io`: input and output pictures; `convert`: other formats to NV12 and back
//! 3. `warp`: planes, lenses, patches
//! 4. `colour`: gains, gammas, sums
//! 5. `convolve`: sliding windows in shared memory; `rows`: pictures on the CPU
//! 6. `stitch`, `seam`, `view`, `preview`, `ssim`, `features`, `matching`, `photometry`, `resample`,
//!    `frame_statistics`: one system each
//! 7. `multiband`: changes the panoramas of `stitch`
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod colour;
pub mod convert;
pub mod convolve;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
pub mod features;
pub mod frame_statistics;
mod io;
pub mod matching;
pub mod multiband;
pub mod photometry;
pub mod preview;
pub mod resample;
#[cfg(not(target_arch = "nvptx64"))]
mod rows;
pub mod seam;
pub mod ssim;
pub mod stitch;
mod unroll;
pub mod view;
pub mod warp;
