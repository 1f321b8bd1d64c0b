//! panoweave's kernels as compiled for each architecture, and what the compiler said of them.
//!
//! `cargo xtask kernels` makes the files; nothing is compiled for a GPU when this crate is built.

use crate::device::{Arch, PtxImage};

cust::kernels! { package: "kernels-gpu", images: IMAGES }

/// PTX for every architecture that was built.
pub static IMAGES: &[PtxImage] = &[
    PtxImage { arch: Arch { major: 8, minor: 7 }, text: include_str!("../ptx/kernels.sm_87.ptx") },
    PtxImage { arch: Arch { major: 9, minor: 0 }, text: include_str!("../ptx/kernels.sm_90.ptx") },
];

/// Bounds, barriers and, where `ptxas` was found, registers and spills of every kernel and
/// architecture, as JSON: a [`cuda_builder::Build`](../cuda_builder/struct.Build.html).
pub static REPORT: &str = include_str!("../ptx/kernels.json");
