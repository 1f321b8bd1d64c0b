//! The program `panoweave`: stitching, warp files, and what this machine can do.
//!
//! Everything of substance is in the library; `cli` reads options, calls it and prints.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
