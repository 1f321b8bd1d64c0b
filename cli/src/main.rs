//! The program `panoweave`: stitches pictures and videos, makes warp files, and reports on the machine.
//!
//! A subcommand reads options, calls the library `panoweave` and prints the result.

mod cli;
mod commands;
mod options;
mod output;

fn main() -> std::process::ExitCode {
    cli::main()
}
