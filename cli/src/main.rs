//! The program `panoweave`: calibrates cameras, stitches pictures and videos, makes warp files, compares pictures,
//! scores panoramas, finds features, resamples trajectories, lists devices, and prints its completions and manual.
//!
//! Each subcommand parses its options, calls the library `panoweave` and prints the result.

mod cli;
mod commands;
mod options;
mod output;

fn main() -> std::process::ExitCode {
    cli::main()
}
