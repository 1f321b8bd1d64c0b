//! panoweave's compiled kernels for each architecture, and the compiler's report on them.
//!
//! `cargo xtask kernels` writes the PTX and the report. Building this crate compiles nothing for a GPU.

use crate::device::{Arch, PtxImage, PtxText};

cust::kernels! { package: "kernels-gpu", images: IMAGES }

/// PTX for each architecture.
pub static IMAGES: &[PtxImage] = &[
    PtxImage { arch: Arch { major: 8, minor: 7 }, text: PtxText::Made(sm_87) },
    PtxImage { arch: Arch { major: 9, minor: 0 }, text: PtxText::Static(SM_90) },
];

static SM_90: &str = include_str!("../ptx/kernels.sm_90.ptx");

/// Returns the PTX for `sm_87`.
///
/// The compiler emits the same code for both architectures, except for the header and programmatic dependent launch,
/// which `sm_87` lacks. `tests/tests/builds/kept_ptx.rs` compares the result with the compiler's own output.
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

/// Launch bounds, barriers and, if `ptxas` was available, registers and spills of every kernel and architecture, as
/// JSON: a [`cuda_builder::Build`](../cuda_builder/struct.Build.html).
pub static REPORT: &str = include_str!("../ptx/kernels.json");
