//! panoweave stitches the pictures of one or more cameras into one panorama with GPU kernels written in Rust.
//!
//! The front doors are [`stitch_photos`], [`calibrate_photos`] and [`job::VideoJob::run`].
//!
//! This crate contains all code that runs on the host; the kernels are in `kernels-gpu`. A stitch combines pictures
//! ([`io::picture`]) with a warp ([`warp`]). For each panorama pixel, the warp stores the source coordinates in the
//! picture of each camera. A warp is read from a file, or computed from a camera rig ([`geometry::rig`]) or a
//! homography ([`geometry::homography`]). Kernels run on a [`device`], which is a GPU or the CPU.
//!
//! Each file format has an error type, whose messages name the file and the reason. An invalid file causes an error,
//! never a panic.
//!
//! # Levels
//!
//! A module may only import from modules with the same or a lower number in this list. `tests/tests/builds/levels.rs`
//! checks the imports.
//!
//! 1. `lock`, `pool`, `fourier`, `device`, `error`, `kernels`: devices, kinds of errors, and the kernels' PTX
//! 2. `frame`: frames in host and device memory
//! 3. `io`: picture files, text files, and videos
//! 4. `geometry`: cameras, the canvas of a panorama, and calibration
//! 5. `warp`: source coordinates and weights of each panorama pixel
//! 6. `ops`: operations that launch kernels
//! 7. `panorama`, `live`: stitching of pictures and of live frames
//! 8. `video`: stitching of video files
//! 9. `quality`: quality measures of panoramas
//! 10. `job`: jobs: inputs, options and outputs in one description

pub mod device;
pub mod error;
mod fourier;
pub mod frame;
pub mod geometry;
pub mod io;
pub mod job;
pub mod kernels;
pub mod live;
mod lock;
pub mod ops;
pub mod panorama;
mod pool;
pub mod quality;
pub mod video;
pub mod warp;

pub use job::{calibrate_photos, stitch_photos};

// Re-exported because public functions take and return glam's vectors and matrices.
pub use glam;

#[cfg(doctest)]
#[doc = include_str!("../../doc/library.md")]
struct LibraryGuide;
