//! The GPU kernels, one module per system. Each is an ordinary function too, which the CPU runs.
//!
//! Compiled twice: for `nvptx64-nvidia-cuda` by `cuda_builder` into PTX, and for the host, where a
//! kernel is a function and a launch type (`stitch_planes` and `StitchPlanes`).
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

mod camera;
pub mod colour;
pub mod convolve;
pub mod features;
mod grade;
mod lens;
pub mod matching;
pub mod mesh;
mod patch;
mod picture;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
mod sums;
mod tile;
pub mod view;
pub mod warp;
