//! panoweave stitches the pictures of two cameras into one panorama with GPU kernels written in Rust.
