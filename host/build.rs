//! Compiles the kernels to PTX for every supported GPU.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::CudaBuilder;

fn main() -> ExitCode {
    // Cargo always sets it for a build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    CudaBuilder::new("../kernels-gpu").copy_to(out.join("kernels.ptx")).build_script()
}
