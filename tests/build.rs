//! Compiles the conformance kernels to PTX, for the tests to embed.

use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{BuildError, CudaBuilder};

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), BuildError> {
    // Cargo always sets it for a build script.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    CudaBuilder::new("../cuda/conformance")
        .copy_to(out.join("conformance.ptx"))
        .build()?
        .write_json()?;
    Ok(())
}
