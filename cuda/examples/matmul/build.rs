//! Compiles the package `kernels` to PTX.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> std::process::ExitCode {
    // Tensor cores for bf16 and asynchronous copies need sm_80. The instructions of warpgroups exist
    // only in sm_90a.
    CudaBuilder::new("kernels")
        .arch(Arch::Sm80)
        .arch(Arch::Sm90a)
        .fma_contraction(true)
        .generate_line_info(true)
        .build_script()
}
