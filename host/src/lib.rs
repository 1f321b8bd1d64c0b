//! panoweave stitches the pictures of two or more cameras into one panorama with GPU kernels written in Rust.
//!
//! This crate is the host side. A stitch takes pictures ([`io::picture`]) and a warp ([`warp`]), which stores where
//! each camera sees each panorama pixel. Warps come from files, from camera rigs ([`geometry::rig`]) or from
//! homographies ([`geometry::homography`]). Kernels run on a [`device`], a GPU or the CPU.
//!
//! Each file format has an error type whose messages name the file, the reason and the remedy. Nothing here panics on
//! bad input.
//!
//! # Levels
//!
//! A module imports only modules of its own level and of the levels above it. `tests/tests/builds/levels.rs` checks it.
//!
//! 1. `lock`, `device`, `kernels`: devices, and the kernels' PTX
//! 2. `frame`: frames in host and device memory
//! 3. `io`: pictures, text, video streams
//! 4. `geometry`: cameras and canvas; calibration
//! 5. `warp`: source coordinates and weights
//! 6. `ops`: operations that launch kernels
//! 7. `panorama`, `live`: pictures and live frames to panoramas
//! 8. `video`: video files to panoramas
//! 9. `quality`: scores

pub mod device;
pub mod frame;
pub mod geometry;
pub mod io;
pub mod kernels;
pub mod live;
mod lock;
pub mod ops;
pub mod panorama;
pub mod quality;
pub mod video;
pub mod warp;

// Its types are part of the interface.
pub use glam;

#[cfg(doctest)]
#[doc = include_str!("../../doc/library.md")]
struct LibraryGuide;
