//! panoweave's kernels as compiled for each architecture.

use crate::device::{Arch, PtxImage};

/// PTX for every architecture that was built.
pub static IMAGES: &[PtxImage] = &[PtxImage {
    arch: Arch { major: 8, minor: 7 },
    text: include_str!("/tmp/k87.ptx"),
}];
