//! Times every example of the kernel kit beside CUDA C++ and NVIDIA's libraries.
//!
//! `cargo bench -p cuda-benches`, with `CUDA_BENCH_REFERENCE` set to the folder in which
//! `reference/compile.sh` has built the references. Arguments select cases by parts of their names.
//! `--check` checks the results of small buffers without timing.

mod histogram;
mod matmul;
mod reduce;
mod saxpy;

use cuda_benches::{Bench, Failure};

fn main() -> Result<(), Failure> {
    let mut bench = Bench::new(std::env::args().skip(1))?;
    bench.run("saxpy", saxpy::Saxpy::new)?;
    bench.run("reduce", reduce::Reduce::new)?;
    bench.run("histogram", histogram::Histogram::uniform)?;
    bench.run("histogram", histogram::Histogram::constant)?;
    bench.run("matmul f32", matmul::f32)?;
    bench.run("matmul warp", matmul::bf16_warp)?;
    bench.run("matmul warpgroup", matmul::bf16_warpgroup::<4096>)?;
    bench.run("matmul warpgroup", matmul::bf16_warpgroup::<8192>)?;
    bench.print_table();
    Ok(())
}
