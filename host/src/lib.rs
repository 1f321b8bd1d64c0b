//! panoweave stitches the pictures of two cameras into one panorama with GPU kernels written in Rust.

pub mod device;
pub mod kernels;
pub mod stitch;
