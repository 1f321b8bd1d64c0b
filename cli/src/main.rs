//! The program `panoweave`: stitching, warp files, and what this machine can do.
//!
//! A subcommand reads options, calls the library `panoweave` and prints the result.

mod cli;
mod commands;
mod options;
mod output;

fn main() -> std::process::ExitCode {
    cli::main()
}
