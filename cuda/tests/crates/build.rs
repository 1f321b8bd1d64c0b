//! Compiles the kernels without fused multiply-adds, so that their floats match the host's bit for bit.

fn main() -> std::process::ExitCode {
    cuda_builder::CudaBuilder::new("kernels").fma_contraction(false).build_script()
}
