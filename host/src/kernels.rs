//! The PTX of panoweave's kernels for each GPU architecture, and the build report of the kernels.
//!
//! `cargo xtask kernels` writes the PTX and the report. Building this crate only embeds these files; it does not
//! compile the kernels.

use crate::device::{Arch, PtxImage, PtxText};

cust::kernels! { package: "kernels-gpu", images: IMAGES }

/// The PTX of all kernels, one image per GPU architecture.
pub static IMAGES: &[PtxImage] = &[
    PtxImage { arch: Arch { major: 8, minor: 7 }, text: PtxText::Made(sm_87) },
    PtxImage { arch: Arch { major: 9, minor: 0 }, text: PtxText::Static(SM_90) },
];

static SM_90: &str = include_str!("../ptx/kernels.sm_90.ptx");

/// Returns the PTX for `sm_87`.
///
/// The PTX for `sm_90` differs from that for `sm_87` only in the header and in the `griddepcontrol` instructions
/// (programmatic dependent launch), which `sm_87` does not support. Therefore this function derives the `sm_87` text
/// from the `sm_90` text. `tests/tests/builds/kept_ptx.rs` compares the result with the compiler's own output for
/// `sm_87`.
fn sm_87() -> String {
    let lines = SM_90.lines().filter(|line| !line.trim_start().starts_with("griddepcontrol."));
    let mut text = String::with_capacity(SM_90.len());
    for line in lines {
        text.push_str(match line {
            ".version 7.8" => ".version 7.4",
            ".target sm_90" => ".target sm_87",
            other => other,
        });
        text.push('\n');
    }
    text
}

/// The build report of the kernels: a [`cuda_builder::Build`](../cuda_builder/struct.Build.html) as JSON.
///
/// It lists the launch bounds and barriers of every kernel for every architecture. If `ptxas` was available to
/// `cargo xtask kernels`, it also lists the registers and spills.
pub static REPORT: &str = include_str!("../ptx/kernels.json");
