//! Compiles the package `kernels` to PTX.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> std::process::ExitCode {
    CudaBuilder::new("kernels")
        // PTX for sm_75 runs on every GPU since T4 and RTX 20.
        .arch(Arch::Sm75)
        .generate_line_info(true)
        // With the compression function inlined, messages and states stay in registers. The function
        // is too large for LLVM's default threshold.
        .inline_threshold(100_000)
        .build_script()
}
