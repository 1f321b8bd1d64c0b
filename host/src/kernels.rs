//! The PTX of panoweave's kernels for each GPU architecture, and the build report of the kernels.
//!
//! `cargo xtask kernels` writes the PTX and the report. Building this crate only embeds these files; it does not
//! compile the kernels. The PTX is compressed, and read only if a GPU is used. The driver compiles each kernel at its
//! first launch: compiling all of them takes 15 s on an H100.

use std::io::Read;
use std::sync::LazyLock;

use cust::typed::SplitPtx;
use flate2::read::ZlibDecoder;

use crate::device::{Arch, PtxImage, PtxText};

cust::kernels! { package: "kernels-gpu", images: IMAGES }

/// The PTX of all kernels, one image per GPU architecture.
pub static IMAGES: &[PtxImage] = &[
    PtxImage { arch: Arch { major: 8, minor: 0 }, text: PtxText::Split(|| &SM_80) },
    PtxImage { arch: Arch { major: 9, minor: 0 }, text: PtxText::Split(|| &SM_90) },
];

static SM_90: LazyLock<SplitPtx> = LazyLock::new(|| {
    let mut text = String::new();
    let packed = include_bytes!("../ptx/kernels.sm_90.ptx.zlib");
    ZlibDecoder::new(&packed[..]).read_to_string(&mut text).expect("a test reads the same bytes");
    SplitPtx::new(text)
});

/// The PTX for `sm_80`.
///
/// It differs from the PTX for `sm_90` only in the header and in the `griddepcontrol` instructions (programmatic dependent
/// launch), which `sm_80` does not support. `cargo xtask kernels` compares it with the compiler's own output for `sm_87`,
/// and a test assembles it for `sm_80`.
static SM_80: LazyLock<SplitPtx> = LazyLock::new(|| {
    let newest = SM_90.text();
    let mut text = String::with_capacity(newest.len());
    for line in newest.lines().filter(|line| !line.trim_start().starts_with("griddepcontrol.")) {
        text.push_str(match line {
            ".version 7.8" => ".version 7.4",
            ".target sm_90" => ".target sm_80",
            other => other,
        });
        text.push('\n');
    }
    SplitPtx::new(text)
});

/// The build report of the kernels: a [`cuda_builder::Build`](../cuda_builder/struct.Build.html) as JSON.
///
/// It lists the launch bounds and barriers of every kernel for every architecture. If `ptxas` was available to
/// `cargo xtask kernels`, it also lists the registers and spills.
pub static REPORT: &str = include_str!("../ptx/kernels.json");
