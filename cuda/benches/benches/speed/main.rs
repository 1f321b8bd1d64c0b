//! Times every example of the kernel kit beside CUDA C++ and NVIDIA's libraries.
//!
//! `cargo bench -p cuda-benches`, with `CUDA_BENCH_REFERENCE` set to the folder in which
//! `reference/compile.sh` has built the references. Arguments select cases by parts of their names.
//! `--check` checks the results of small buffers without timing.

mod saxpy;

use cuda_benches::{Bench, Failure};

fn main() -> Result<(), Failure> {
    let mut bench = Bench::new(std::env::args().skip(1))?;
    bench.run("saxpy", saxpy::Saxpy::new)?;
    bench.print_table();
    Ok(())
}
