//! `cargo xtask kernels`: compiles the kernels to PTX and keeps it in `host/ptx/`.
//!
//! It is kept in the repository so that `panoweave` builds as any other crate, without `core`'s source
//! or an unstable compiler. `tests/tests/kept_ptx.rs` fails where it is not what the kernels give.

use cuda_builder::{Arch, CudaBuilder, Spills};

use crate::Result;
use crate::cargo::root;
use crate::ptxas;

pub(crate) fn run() -> Result {
    let mut builder = settings(CudaBuilder::new(root().join("kernels-gpu")))
        .copy_to(root().join("host/ptx/kernels.ptx"));
    if let Some(ptxas) = ptxas::provide() {
        builder = builder.ptxas(ptxas);
    }
    let build = builder.build()?;
    build.write_json()?;
    for arch in &build.archs {
        let by = arch.ptxas.as_deref().unwrap_or("not measured");
        println!("{}: {} kernels, {by}", arch.ptx.display(), arch.kernels.len());
    }
    Ok(())
}

/// The CPU's results are compared bit by bit, so nothing is fused; spilled registers are an error.
fn settings(builder: CudaBuilder) -> CudaBuilder {
    builder.arch(Arch::Sm87).arch(Arch::Sm90).fma_contraction(false).spills(Spills::Deny)
}
