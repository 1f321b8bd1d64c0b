//! `cargo xtask kernels`: compiles the kernels to PTX and keeps it in `host/ptx/`.
//!
//! It is kept in the repository so that `panoweave` builds as any other crate, without `core`'s source
//! or an unstable compiler. `tests/tests/kept_ptx.rs` fails where it is not what the kernels give.

use cuda_builder::CudaBuilder;

use crate::Result;
use crate::cargo::root;
use crate::ptxas;

pub(crate) fn run() -> Result {
    let mut builder =
        CudaBuilder::new(root().join("kernels-gpu")).copy_to(root().join("host/ptx/kernels.ptx"));
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
