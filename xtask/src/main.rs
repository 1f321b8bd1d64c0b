//! The project's development commands: `cargo xtask demo`, `test`, `kernels`, `bench`, `soak`, `faults`, `fuzz`,
//! `sanitize`, `bundle`, `package` and `gst`.
//!
//! Each command builds and downloads what it needs. The program and the library do not depend on this crate.

mod bench;
mod bundle;
mod cargo;
mod debian;
mod faults;
mod ffmpeg;
mod fuzz;
mod gstreamer;
mod kernels;
mod package;
mod ptxas;
mod sanitize;
mod test;

use std::error::Error;
use std::process::ExitCode;

/// The result of a command. `main` prints the error as text.
type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo     stitch a synthetic scene and write target/demo/panorama.png
  test     run every test; build the kernels, check them and compare them with host/ptx/
  kernels  rebuild the kernels and store them in host/ptx/; needed only after a change of a kernel
  bench    run every bench on the GPU; write target/bench/report.json and report.md
           --from RECORD...  run no bench; report records that a bundle wrote on another machine
  soak     run the live stitcher for 10 minutes, or --minutes N; fail if memory grows or a frame is lost
           --faults [--seed N]  cause random faults, too; `--minutes 480 --faults` is the test of a night
  faults   run the program while it is killed or short of disk; see doc/reliability.md
           [--trials N] [--seed N] [--program FILE] [--job NAME]
  fuzz     run the fuzz targets for 10 minutes in total, or --minutes N [TARGET...]; fail if one fails
           --address    with AddressSanitizer
  sanitize miri|address|thread [FILTER...]
           run tests under a checker of undefined behaviour; needs a nightly toolchain; see doc/reliability.md
  bundle   create target/bundle.tar.xz: tests, benches and the program for a GPU machine without Rust
           --target TRIPLE  build for another architecture, such as aarch64-unknown-linux-gnu for Jetson Orin
  package  create the Debian package of the program in target/package/
           --target TRIPLE  build for another target, such as aarch64-unknown-linux-gnu for arm64
  gst ARGUMENTS...
           run cargo with an environment in which GStreamer is found, for the plugin in gst/";

/// Returns the lines of [`USAGE`] about a command, or all lines if there is no such command.
fn usage(command: &str) -> String {
    let begins = |line: &str| line.starts_with("  ") && !line.starts_with("   ");
    let is_its_own = |line: &str| begins(line) && line.split_whitespace().next() == Some(command);
    let mut lines = USAGE.lines().skip_while(|line| !is_its_own(line));
    let Some(first) = lines.next() else { return USAGE.to_owned() };
    let rest = lines.take_while(|line| !begins(line));
    let lines: Vec<_> = std::iter::once(first).chain(rest).collect();
    lines.join("\n")
}

/// Runs the example program `demo`, which stitches a synthetic scene into `target/demo`.
fn demo(arguments: &[&str]) -> Result {
    let demo = ["run", "--release", "--package", "panoweave-examples", "--bin", "demo", "--"];
    cargo::run(cargo::cargo(&demo).arg(cargo::target().join("demo")).args(arguments))
}

/// Runs the program `soak`, which runs the live stitcher for a long time, on the GPU if there is one.
fn soak(arguments: &[&str]) -> Result {
    let soak = ["run", "--release", "--package", "panoweave-soak", "--"];
    cargo::run(cargo::cargo(&soak).args(arguments))
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        [command, "--help" | "-h", ..] if command != "gst" => {
            println!("{}", usage(command));
            Ok(())
        }
        ["demo", ref rest @ ..] => demo(rest),
        ["test"] => test::run(),
        ["kernels"] => kernels::run(),
        ["bench"] => bench::run(),
        ["bench", "--from", ref records @ ..] if !records.is_empty() => bench::report(records),
        ["soak", ref rest @ ..] => soak(rest),
        ["fuzz", ref rest @ ..] => fuzz::run(rest),
        ["faults", ref rest @ ..] => faults::run(rest),
        ["sanitize", tool, ref filter @ ..] => sanitize::run(tool, filter),
        ["bundle"] => bundle::run(None),
        ["bundle", "--target", triple] => bundle::run(Some(triple)),
        ["package"] => package::run(None),
        ["package", "--target", triple] => package::run(Some(triple)),
        ["gst", ref rest @ ..] if !rest.is_empty() => gstreamer::command(rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            if let Some(command) = arguments.first() {
                eprintln!("error: unknown command or wrong arguments: `{command}`\n");
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
