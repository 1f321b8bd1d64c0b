//! Everything that crosses the boundary between host and kernels: plain `#[repr(C)]` data with the
//! same layout on both sides, and the launch constants that both must agree on.
//!
//! Each module belongs to one system and has the same name in `kernels-gpu` and `host`. This crate has no behaviour
//! beyond constructors and accessors; formulas live in the kernels.
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
