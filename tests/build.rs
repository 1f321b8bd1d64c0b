//! Compiles the conformance kernels to PTX, for the tests to embed.

use std::env;
use std::error::Error;
use std::path::Path;

use cuda_builder::CudaBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run by cargo only")?;
    CudaBuilder::new("../cuda/conformance")
        .copy_to(Path::new(&out).join("conformance.ptx"))
        .build()?;
    Ok(())
}
