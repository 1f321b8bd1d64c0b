//! Everything that crosses the boundary between host and kernels: plain `#[repr(C)]` data with the
//! same layout on both sides, and the launch constants that both must agree on.
//!
//! One module per system, under the same stem as in `kernels-gpu` and `host`. There is no behaviour
//! here beyond constructors and accessors; formulas live in the kernels.
#![no_std]

pub mod colour;
pub mod convolve;
pub mod features;
pub mod matching;
pub mod nv12;
mod pixel;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
pub mod texture;
pub mod view;
pub mod warp;
pub mod yuv;

pub use pixel::{Chroma, Rgba8};
