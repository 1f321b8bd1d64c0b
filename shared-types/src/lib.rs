//! Types and constants that the host and the kernels share: kernel arguments, `#[repr(C)]` data with the same layout
//! on both sides, and launch constants.
//!
//! The modules of one system, such as `seam`, have the same name here, in `kernels-gpu` and in `host`. Apart from
//! constructors, conversions and accessors, this crate contains no code; the formulas per pixel are in the kernels.
#![no_std]

pub mod colour;
pub mod convolve;
pub mod features;
pub mod frame_statistics;
pub mod matching;
pub mod multiband;
pub mod nv12;
pub mod photometry;
pub mod picture;
mod pixel;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
pub mod texture;
pub mod view;
pub mod warp;
pub mod yuv;

pub use pixel::{Chroma, Chroma10, Rgba8, Rgba16};
