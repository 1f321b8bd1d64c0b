//! Compiles the package `kernels` to PTX.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> std::process::ExitCode {
    // PTX for sm_75 runs on every GPU since T4 and RTX 20.
    CudaBuilder::new("kernels").arch(Arch::Sm75).generate_line_info(true).build_script()
}
