//! `cargo xtask sanitize miri|address|thread [FILTER...]`: runs tests under a checker of undefined behaviour.
//!
//! Miri interprets the code. AddressSanitizer and ThreadSanitizer instrument it. All three need a nightly toolchain,
//! which `PANOWEAVE_NIGHTLY` names: `rustup toolchain install nightly --component miri,rust-src`. `doc/reliability.md`
//! says which tests each of them covers, and why not others.

use std::process::Command;

use crate::Result;
use crate::cargo::{host, root, target};
use crate::test::Counts;

/// Tests of one package, or a run of a program: the arguments of cargo, and those of the tests (parts of the names of the
/// tests to run) or of the program.
type Suite = (&'static [&'static str], &'static [&'static str]);

/// Code without system calls, inline assembly and foreign functions.
const MIRI: [Suite; 2] = [
    (&["test", "-p", "shared-types", "--lib"], &[]),
    (&["test", "-p", "panoweave", "--lib"], &["geometry::intrinsics"]),
];

/// The simulator, without the tests that overflow stacks or read invalid addresses on purpose; and everything that
/// reads files or has several threads. corosensei tells the sanitizer about each switch to the stack of another fiber.
const ADDRESS: [Suite; 3] = [
    (
        &[
            "test",
            "--manifest-path=cuda/Cargo.toml",
            "-p",
            "stable-cuda-cpu",
            "--features",
            "corosensei/sanitizer",
            "--lib",
            "--test=simulator",
            "--test=profile",
        ],
        &[],
    ),
    (&["test", "-p", "panoweave", "--lib"], &["io::", "live::", "geometry::", "warp::"]),
    SOAK,
];

/// The simulator, without a test that needs more memory mappings than ThreadSanitizer leaves, and the live stitcher.
const THREAD: [Suite; 2] = [
    (
        &[
            "test",
            "--manifest-path=cuda/Cargo.toml",
            "-p",
            "stable-cuda-cpu",
            "--lib",
            "--test=simulator",
        ],
        &["--skip", "many_cores_and_large_blocks_fit_into_the_address_space"],
    ),
    SOAK,
];

/// The live stitcher with cameras, a reader, and swaps of the warp and the options on threads of their own.
const SOAK: Suite = (
    &["run", "-p", "panoweave-soak"],
    &["--seconds", "60", "--fps", "10", "--device", "cpu", "--faults", "--seed", "1"],
);

/// The exit code of a soak that was judged and failed.
const SOAK_FAILED: i32 = 4;

/// Returns cargo with a tool for these arguments.
type Prepare = fn(&[&str]) -> Result<Command>;

/// Runs the tests of a tool. With `filter`, runs the tests whose names contain one of these texts instead of the tool's
/// own selection.
pub(crate) fn run(tool: &str, filter: &[&str]) -> Result {
    let (suites, command): (&[Suite], Prepare) = match tool {
        "miri" => (&MIRI, miri),
        "address" => (&ADDRESS, address),
        "thread" => (&THREAD, thread),
        _ => return Err(format!("unknown tool `{tool}`; use miri, address or thread").into()),
    };
    let (mut failed, mut tests) = (Vec::new(), 0);
    for &(arguments, selection) in suites {
        let is_test = arguments[0] == "test";
        if !filter.is_empty() && !is_test {
            continue;
        }
        let mut command = command(arguments)?;
        command.arg("--").args(if filter.is_empty() { selection } else { filter });
        let mut counts = Counts::default();
        let status = counts.add_all(&mut command)?;
        let ran = counts.passed + counts.failed;
        tests += ran;
        if !passes(is_test, status.code()) {
            failed.push(format!("{command:?}: {status}"));
        } else if is_test && filter.is_empty() && ran == 0 {
            failed.push(format!(
                "{command:?}: no test ran; correct the names in xtask/src/sanitize.rs"
            ));
        }
    }
    if tests == 0 && failed.is_empty() {
        let names = filter.join(", ");
        return Err(format!(
            "no test has a name with {names}; `cargo test -- --list` prints all names"
        )
        .into());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// Returns whether tests or a soak with this exit code had no report. The instrumented soak takes more time and memory
/// than its own limits allow. A report of a sanitizer ends it with another code.
fn passes(is_test: bool, code: Option<i32>) -> bool {
    code == Some(0) || !is_test && code == Some(SOAK_FAILED)
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

fn miri(arguments: &[&str]) -> Result<Command> {
    let mut command = nightly("cargo", "miri");
    command.arg("miri").args(arguments);
    // Device addresses are integers, whose pointers have exposed provenance.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance");
    Ok(command)
}

fn address(arguments: &[&str]) -> Result<Command> {
    let mut command = nightly("cargo", "address");
    command.args(&arguments[..1]).args(["--target", &host()?]).args(&arguments[1..]);
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    // The simulator handles SIGSEGV itself, to report an invalid access of a kernel. It leaks the frames of threads
    // that a fault has stopped; other leaks are found by the counters of the tests and by the soak.
    let options =
        "exitcode=66:allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0:detect_leaks=0";
    command.env("ASAN_OPTIONS", options);
    Ok(command)
}

fn thread(arguments: &[&str]) -> Result<Command> {
    let mut command = nightly("cargo", "thread");
    // Without its own instrumentation, the standard library would hide the order that its locks and channels make.
    command.args(&arguments[..1]).args(["-Zbuild-std", "--target", &host()?]).args(&arguments[1..]);
    command.env("RUSTFLAGS", "-Zsanitizer=thread").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn only_a_soak_that_ran_may_exceed_its_limits() {
        assert!(passes(true, Some(0)) && passes(false, Some(0)) && passes(false, Some(4)));
        // A failed build, wrong arguments, a report of a sanitizer, and a signal.
        for code in [Some(1), Some(2), Some(101), Some(66), None] {
            assert!(!passes(false, code), "{code:?}");
        }
        assert!(!passes(true, Some(4)));
    }
}
