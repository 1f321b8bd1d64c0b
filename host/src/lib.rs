//! panoweave stitches the pictures of two cameras into one panorama with GPU kernels written in Rust.
//!
//! This crate is the host side: the library, and the program of the same name. A stitch takes
//! pictures ([`picture`]) and a warp ([`warp`]), which says for every panorama pixel where each camera
//! sees it. Warps are files, or come from a description of the cameras ([`rig`], [`homography`]).
//! Kernels run on a [`device`], a GPU or the CPU.
//!
//! Each file format has its own error type whose messages name the file, the reason and the remedy;
//! nothing here panics on bad input.

// A module imports only the modules above it in this list; `tests` checks it.
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
