//! `cargo xtask kernels`: compiles the kernels to PTX and stores the PTX in `host/ptx/`.
//!
//! The PTX is part of the repository, so `panoweave` builds like any other crate, without the source of `core` and
//! without unstable features. The repository contains only the PTX for the newest architecture. `host/src/kernels.rs`
//! derives the PTX for the other architecture from it, so this command fails if the compiler's own output for it says
//! more. The test `tests/tests/builds/kept_ptx.rs` fails if the stored PTX differs from a fresh build.

use std::fs;
use std::io::Write;

use cuda_builder::{Arch, CudaBuilder, Spills};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::Result;
use crate::cargo::{root, target};
use crate::ptxas;

pub(crate) fn run() -> Result {
    let mut builder = settings(CudaBuilder::new(root().join("kernels-gpu")))
        .copy_to(target().join("kernels/kernels.ptx"));
    if let Some(ptxas) = ptxas::provide() {
        builder = builder.ptxas(ptxas);
    }
    let build = builder.build()?;
    let [oldest, newest] = &build.archs[..] else {
        return Err("the kernels were not built for two architectures".into());
    };
    let text = fs::read_to_string(&newest.ptx)?;
    if common(&fs::read_to_string(&oldest.ptx)?).ne(common(&text)) {
        return Err("the PTX for sm_90 uses more of it than dependent launches, so `host/src/kernels.rs` cannot derive \
                    the PTX for sm_80; change the kernels, or store both"
            .into());
    }
    let kept = root().join("host/ptx");
    fs::copy(build.write_json()?, kept.join("kernels.json"))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    fs::write(kept.join(format!("{}.zlib", newest.file)), packed.finish()?)?;
    for arch in &build.archs {
        let by = arch.ptxas.as_deref().unwrap_or("not measured");
        println!("{}: {} kernels, {by}", arch.ptx.display(), arch.kernels.len());
    }
    Ok(())
}

/// Returns the lines that the PTX of both architectures shares: all but the header and the instructions of dependent
/// launches.
fn common(text: &str) -> impl Iterator<Item = &str> {
    let own = [".version ", ".target ", "griddepcontrol."];
    text.lines().filter(move |line| !own.iter().any(|own| line.trim_start().starts_with(own)))
}

/// Sets the architectures for which the kernels are built and checked, and makes register spills an error. Code for
/// `sm_80` is that for `sm_87`; two kernels spill up to 16 bytes there. Disables fused
/// multiply-adds, because tests compare the results of the GPU and the CPU bit by bit.
fn settings(builder: CudaBuilder) -> CudaBuilder {
    builder.arch(Arch::Sm87).arch(Arch::Sm90).fma_contraction(false).spills(Spills::Deny)
}
