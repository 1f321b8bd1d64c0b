//! `cargo xtask sanitize miri|address|thread [FILTER...]`: runs tests under a checker of undefined behaviour.
//!
//! Miri interprets the code. AddressSanitizer and ThreadSanitizer instrument it. All three need a nightly toolchain, which
//! `PANOWEAVE_NIGHTLY` names: `rustup toolchain install nightly --component miri,rust-src`. `doc/soundness.md` says which
//! tests each of them covers, and why not others.

use std::process::Command;

use crate::Result;
use crate::cargo::{self, root, target};

/// Tests of one package.
struct Suite {
    /// The arguments of cargo that select the package and its test programs.
    package: &'static [&'static str],
    /// The tests to run: each argument is a part of their names. All tests if it is empty.
    tests: &'static [&'static str],
    /// The tests to leave out, in the same way.
    without: &'static [&'static str],
}

/// Code without system calls, inline assembly and foreign functions, as far as Miri runs it in minutes.
const MIRI: [Suite; 2] = [
    Suite { package: &["-p", "shared-types", "--lib"], tests: &[], without: &[] },
    Suite {
        package: &["-p", "panoweave", "--lib"],
        tests: &[
            "geometry::crop",
            "geometry::lens",
            "live::pairing::tests",
            "io::text",
            "warp::plane",
        ],
        without: &[],
    },
];

/// The simulator, and everything that reads files or has several threads.
const ADDRESS: [Suite; 2] = [
    Suite {
        // corosensei tells the sanitizer about each switch to the stack of another fiber.
        package: &["-p", "stable-cuda-cpu", "--features", "corosensei/sanitizer", "--lib"],
        tests: &[],
        without: &[],
    },
    Suite {
        package: &["-p", "panoweave", "--lib"],
        tests: &["io::", "live::", "geometry::", "warp::"],
        without: &[],
    },
];

const THREAD: [Suite; 2] = [
    Suite { package: &["-p", "stable-cuda-cpu", "--lib"], tests: &[], without: &[] },
    Suite { package: &["-p", "panoweave", "--lib"], tests: &["io::", "live::"], without: &[] },
];

/// Runs the tests of a tool. With `filter`, runs the tests whose names contain one of these texts instead of the tool's own
/// selection.
pub(crate) fn run(tool: &str, filter: &[&str]) -> Result {
    let (suites, command): (&[Suite], _) = match tool {
        "miri" => (&MIRI, miri as fn() -> Result<Command>),
        "address" => (&ADDRESS, address as fn() -> Result<Command>),
        "thread" => (&THREAD, thread as fn() -> Result<Command>),
        _ => return Err(format!("unknown tool `{tool}`; use miri, address or thread").into()),
    };
    let mut failed = Vec::new();
    for suite in suites {
        let mut command = command()?;
        command.args(suite.package).arg("--");
        command.args(if filter.is_empty() { suite.tests } else { filter });
        command.args(suite.without.iter().flat_map(|name| ["--skip", name]));
        if let Err(error) = cargo::run(&mut command) {
            failed.push(error.to_string());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// Returns a command of the nightly toolchain that runs in the root folder of the workspace.
fn nightly(program: &str, folder: &str) -> Command {
    let toolchain = std::env::var("PANOWEAVE_NIGHTLY").unwrap_or_else(|_| "nightly".to_owned());
    let mut command = Command::new("rustup");
    command.current_dir(root()).args(["run", &toolchain, program]);
    command.env("CARGO_TARGET_DIR", target().join("sanitize").join(folder));
    // This program runs under the pinned toolchain, which cargo passes on in these variables.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command
}

fn miri() -> Result<Command> {
    let mut command = nightly("cargo", "miri");
    command.args(["miri", "test"]);
    // Device addresses are integers, whose pointers have exposed provenance.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance");
    Ok(command)
}

fn address() -> Result<Command> {
    let mut command = nightly("cargo", "address");
    command.args(["test", "--target", &host()?]).env("RUSTFLAGS", "-Zsanitizer=address");
    // The simulator handles SIGSEGV itself, to report an invalid access of a kernel.
    command.env("ASAN_OPTIONS", "allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0");
    Ok(command)
}

fn thread() -> Result<Command> {
    let mut command = nightly("cargo", "thread");
    // Without its own instrumentation, the standard library would hide the order that its locks and channels make.
    command.args(["test", "-Zbuild-std", "--target", &host()?]);
    command.env("RUSTFLAGS", "-Zsanitizer=thread");
    Ok(command)
}

/// Returns the triple of this machine, such as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String> {
    let version = cargo::output(nightly("rustc", "address").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}
