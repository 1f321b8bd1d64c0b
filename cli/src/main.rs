//! The program `panoweave`: calibrates cameras, stitches pictures and videos, makes warp files, measures quality, and
//! reports on the machine.
//!
//! A subcommand reads options, calls the library `panoweave` and prints the result.

mod cli;
mod commands;
mod options;
mod output;

fn main() -> std::process::ExitCode {
    cli::main()
}
