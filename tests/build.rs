//! Compiles the conformance kernels to PTX, for the tests to embed.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::CudaBuilder;

fn main() -> ExitCode {
    // Cargo always sets it for a build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    CudaBuilder::new("../cuda/conformance").copy_to(out.join("conformance.ptx")).build_script()
}
