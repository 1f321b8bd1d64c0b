//! The project's own commands: `cargo xtask demo | test | kernels | bench | soak | bundle`.
//!
//! Each does all the set-up that it needs. No logic of the product is here.

mod bench;
mod bundle;
mod cargo;
mod demo;
mod ffmpeg;
mod kernels;
mod ptxas;
mod soak;
mod test;

use std::error::Error;
use std::process::ExitCode;

/// What every command returns.
type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo     stitch a made-up scene and write target/demo/panorama.png
  test     run every test; kernels are built, checked and compared with those kept
  kernels  build the kernels anew and keep them in host/ptx/
  bench    run every bench on the GPU; write target/bench/index.html and the table of BENCHMARKS.md
           --from RECORD...  from records that the bundle made elsewhere
  soak     run the live stitcher for --minutes N; fails if memory grows or a frame is lost
  bundle   make target/bundle.tar.xz: tests, benches and program for a machine without Rust
           --target TRIPLE  of another architecture, as aarch64-unknown-linux-gnu for Jetson Orin";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["demo", ref rest @ ..] => demo::run(rest),
        ["test"] => test::run(),
        ["kernels"] => kernels::run(),
        ["bench"] => bench::run(),
        ["bench", "--from", ref records @ ..] if !records.is_empty() => bench::report(records),
        ["soak", ref rest @ ..] => soak::run(rest),
        ["bundle"] => bundle::run(None),
        ["bundle", "--target", triple] => bundle::run(Some(triple)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            if let Some(command) = arguments.first() {
                eprintln!("error: no such command, or not with these arguments: {command}\n");
            }
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
