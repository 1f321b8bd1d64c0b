//! Compiles the conformance kernels to PTX and lets the tests embed it.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{Arch, CudaBuilder, Spills};

fn main() -> ExitCode {
    // Cargo sets `OUT_DIR` for every build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // Results are compared bit by bit with the CPU's, so contraction is off.
    CudaBuilder::new("../cuda/conformance")
        .arch(Arch::Sm87)
        .arch(Arch::Sm90)
        .fma_contraction(false)
        // A kernel that calls every mathematical function needs many registers.
        .spills(Spills::Allow)
        .copy_to(out.join("conformance.ptx"))
        .build_script()
}
