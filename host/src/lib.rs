//! panoweave stitches the pictures of two cameras into one panorama with GPU kernels written in Rust.
//!
//! This crate is the host side: the library, and the program of the same name. A stitch takes
//! pictures ([`picture`]) and a warp ([`warp`]), which says for every panorama pixel where each camera
//! sees it. Warps are files, or come from a description of the cameras ([`rig`], [`homography`]).
//! Kernels run on a [`device`], a GPU or the CPU.
//!
//! Each file format has its own error type whose messages name the file, the reason and the remedy;
//! nothing here panics on bad input.

// Files and geometry: no GPU.
pub mod calibrate;
pub mod frame;
pub mod geometry;
pub mod homography;
pub mod intrinsics;
mod lock;
pub mod matching;
pub mod picture;
mod replace_file;
pub mod rig;
pub mod text_file;
pub mod warp;

pub use replace_file::remove_unfinished;
// Their types are part of the interface: a crate that embeds this one names them through it.
pub use {glam, shared_types};

// Kernels and where they run.
pub mod colour;
pub mod convolve;
pub mod device;
pub mod features;
pub mod kernels;
pub mod live;
pub mod panorama;
pub mod quality;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
pub mod trajectory;
pub mod video;
pub mod view;
