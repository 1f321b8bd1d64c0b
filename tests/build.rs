//! Compiles the conformance kernels to PTX, for the tests to embed.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{Arch, CudaBuilder, Spills};

fn main() -> ExitCode {
    // Cargo always sets it for a build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // The CPU's results are compared bit by bit, so nothing is fused.
    CudaBuilder::new("../cuda/conformance")
        .arch(Arch::Sm87)
        .arch(Arch::Sm90)
        .fma_contraction(false)
        // A kernel with every mathematical function calls many of them.
        .spills(Spills::Allow)
        .copy_to(out.join("conformance.ptx"))
        .build_script()
}
