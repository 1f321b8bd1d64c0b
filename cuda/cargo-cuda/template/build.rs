//! Compiles the package `kernels` to PTX.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> std::process::ExitCode {
    CudaBuilder::new("kernels")
        // PTX for sm_75 runs on every GPU since T4 and RTX 20. Add a newer architecture if a kernel
        // uses its instructions.
        .arch(Arch::Sm75)
        // `cargo cuda sanitize` and profilers then name source lines.
        .generate_line_info(true)
        .build_script()
}
