//! panoweave stitches the pictures of two cameras into one panorama with GPU kernels written in Rust.
//!
//! This crate is the host side. The modules below touch no GPU: they read and check what describes a
//! stitch (pictures, rigs, homographies, warps) and hand plain numbers to the device layer. Each file
//! format has its own error type whose messages name the file, the reason and the remedy; nothing
//! here panics on bad input.

// Files and geometry, no GPU.
pub mod geometry;
pub mod homography;
mod homography_error;
pub mod intrinsics;
mod intrinsics_error;
pub mod lens_limit;
mod opencv_yaml;
pub mod picture;
mod picture_decode;
mod picture_jpeg;
mod replace_file;
pub mod rig;
pub mod rig_error;
mod rig_file;
pub mod text_file;
pub mod warp;
pub mod warp_error;
mod warp_file;
mod warp_preview;
mod warp_raw;
mod warp_read;
pub mod warp_stats;
