//! Compiles the conformance kernels to PTX and lets the tests embed it.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{Arch, CudaBuilder, Spills};

fn main() -> ExitCode {
    // Cargo sets `OUT_DIR` for every build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // Tests compare the results of the GPU and the CPU bit by bit, so the compiler must not contract multiplications
    // and additions to fused multiply-adds.
    CudaBuilder::new("../../conformance")
        .arch(Arch::Sm80)
        .arch(Arch::Sm90)
        .fma_contraction(false)
        // Allow register spills, which occur in a kernel that calls every mathematical function.
        .spills(Spills::Allow)
        .copy_to(out.join("conformance.ptx"))
        .build_script()
}
