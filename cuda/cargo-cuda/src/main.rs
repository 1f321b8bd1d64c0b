//! The program `cargo cuda`: creates a project with CUDA kernels, checks the installation, prints the PTX and the
//! machine code of a kernel, and runs tests with checks on the CPU and the GPU.
//!
//! `cli` parses the arguments. Each module in `commands` runs one subcommand.

mod cli;
mod commands;
mod compile;
mod error;
mod gpu;
mod output;
mod tools;
mod workspace;

fn main() -> std::process::ExitCode {
    cli::main()
}
