//! panoweave stitches the pictures of two or more cameras into one panorama with GPU kernels written in Rust.
//!
//! This crate is the host side. A stitch takes pictures ([`io::picture`]) and a warp ([`warp`]), which stores the
//! source coordinates of each panorama pixel in each camera's picture. A warp is read from a file, or computed from a
//! camera rig ([`geometry::rig`]) or a homography ([`geometry::homography`]). Kernels run on a [`device`], a GPU or
//! the CPU.
//!
//! Each file format has an error type whose messages name the file, the reason and the remedy. No function panics on
//! bad input.
//!
//! # Levels
//!
//! A module imports only modules of its own level and of the levels above it in this list.
//! `tests/tests/builds/levels.rs` checks the imports.
//!
//! 1. `lock`, `device`, `kernels`: devices, and the kernels' PTX
//! 2. `frame`: frames in host and device memory
//! 3. `io`: pictures, text, video streams
//! 4. `geometry`: cameras and canvas; calibration
//! 5. `warp`: source coordinates and weights
//! 6. `ops`: operations that launch kernels
//! 7. `panorama`, `live`: stitching of pictures and of live frames
//! 8. `video`: stitching of video files
//! 9. `quality`: quality measures of panoramas

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

// The public interface uses glam's types.
pub use glam;

#[cfg(doctest)]
#[doc = include_str!("../../doc/library.md")]
struct LibraryGuide;
