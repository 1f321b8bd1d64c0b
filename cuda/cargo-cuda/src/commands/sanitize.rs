//! `cargo cuda sanitize`: runs the tests on the GPU under `compute-sanitizer`.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, Stdio};

use serde_json::Value;

use crate::error::Error;
use crate::gpu;
use crate::output::print;
use crate::tools::SANITIZER;
use crate::workspace::cargo;

/// The exit code of `compute-sanitizer` if it found an error. No test executable returns it.
const FOUND: u8 = 86;

const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// Runs the tests on the GPU under `compute-sanitizer`.
///
/// Needs a GPU. Checks only kernels that the tests run on the GPU. The exit code is not 0 if a test fails, if the tool
/// finds an error, or if no test uses the GPU. The reports name source lines if `build.rs` calls
/// `CudaBuilder::generate_line_info(true)`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The check to run: `memcheck` for invalid accesses, `racecheck` for races on shared memory, `initcheck` for reads
    /// of memory that was never written, `synccheck` for invalid barriers.
    #[arg(long, default_value = TOOLS[0], value_parser = TOOLS)]
    tool: String,
    /// Arguments for `cargo test`; those after `--` are for the test executables.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Builds the tests and runs each test executable under the tool. `rest` is empty, or `--` and the arguments for the
/// test executables.
pub(crate) fn run(args: Args, rest: Vec<OsString>) -> Result<ExitCode, Error> {
    let program = SANITIZER.required()?;
    gpu::required()?;
    let for_tests = rest.get(1..).unwrap_or_default();
    let tests = build(&args.args)?;
    if tests.is_empty() {
        let none = "cargo built no test executable; add a test, or correct the arguments";
        return Err(Error::new(none));
    }
    let tool = &args.tool;
    let log = env::temp_dir().join(format!("cargo-cuda-{}.log", process::id()));
    let (mut failed, mut used_gpu) = (Vec::new(), 0);
    for test in &tests {
        eprintln!("{tool}: {}", test.file.display());
        let outcome = check(&program, tool, test, for_tests, &log)?;
        used_gpu += usize::from(outcome.used_gpu);
        if let Some(reason) = outcome.failure {
            let name = test.file.file_name().unwrap_or_default().to_string_lossy();
            failed.push(format!("{name} ({reason})"));
        }
    }
    if !failed.is_empty() {
        let failed = failed.join(", ");
        return Err(Error::new(format!(
            "{tool}: failed: {failed}; the output above names the kernels and tests"
        )));
    }
    if used_gpu == 0 {
        return Err(Error::new(
            "no test used the GPU, so nothing was checked; write a test that opens it, with `Device::auto()` for \
             example",
        ));
    }
    eprintln!("{tool}: no errors; {used_gpu} of {} test executables used the GPU", tests.len());
    Ok(ExitCode::SUCCESS)
}

/// The result of one test executable.
struct Outcome {
    /// Whether a test called the driver. Otherwise the tool has checked nothing.
    used_gpu: bool,
    failure: Option<&'static str>,
}

/// Runs a test executable under the tool, and prints the tool's messages.
fn check(
    program: &Path,
    tool: &str,
    test: &Test,
    arguments: &[OsString],
    log: &Path,
) -> Result<Outcome, Error> {
    let mut command = Command::new(program);
    command.args(["--tool", tool, "--error-exitcode", &FOUND.to_string()]);
    // An executable whose tests use only the CPU is not an error.
    command.args(["--require-cuda-init", "no", "--target-processes", "all"]);
    command.args(["--print-limit", "10"]).arg("--log-file").arg(log);
    command.arg(&test.file);
    let name = program.display().to_string();
    let status = test.prepare(&mut command, arguments).status();
    let mut status = status.map_err(Error::start(&name, "run a test"))?;
    // Without the file there are no messages.
    let said = fs::read_to_string(log).unwrap_or_default();
    let _ = fs::remove_file(log);
    print(&said)?;
    let used_gpu = said.contains(" SUMMARY: ");
    if !used_gpu {
        // The tool returns 0 for an executable that never calls the driver, even if a test failed.
        let mut plain = Command::new(&test.file);
        let output = test.prepare(&mut plain, arguments).output();
        let name = test.file.display().to_string();
        status = output.map_err(Error::start(&name, "run its tests"))?.status;
    }
    Ok(Outcome { used_gpu, failure: failure(status.code()) })
}

/// Returns the reason for an exit code other than 0. `None` stands for a signal.
fn failure(code: Option<i32>) -> Option<&'static str> {
    match code {
        Some(0) => None,
        Some(code) if code == i32::from(FOUND) => Some("the tool found errors"),
        Some(_) => Some("a test failed"),
        None => Some("a signal ended it"),
    }
}

/// A test executable, and the folder of its package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    file: PathBuf,
    folder: PathBuf,
}

impl Test {
    /// Adds the arguments and the folder with which `cargo test` would run the executable.
    fn prepare<'a>(&self, command: &'a mut Command, arguments: &[OsString]) -> &'a mut Command {
        command.args(arguments).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder)
    }
}

/// Builds the tests and returns the test executables.
fn build(arguments: &[OsString]) -> Result<BTreeSet<Test>, Error> {
    let mut command = cargo();
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(arguments);
    command.stderr(Stdio::inherit());
    let output = command.output().map_err(Error::start("cargo", "build the tests"))?;
    if !output.status.success() {
        return Err(Error::new("the tests do not compile; correct the errors above"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(executable).collect())
}

/// Returns the test executable in one of cargo's messages.
fn executable(message: &str) -> Option<Test> {
    let message: Value = serde_json::from_str(message).ok()?;
    let file = message["executable"].as_str()?.into();
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    message["profile"]["test"].as_bool()?.then_some(Test { file, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_tool_differ_from_failed_tests() {
        assert_eq!(failure(Some(0)), None);
        assert_eq!(failure(Some(FOUND.into())), Some("the tool found errors"));
        assert_eq!(failure(Some(101)), Some("a test failed"));
        assert_eq!(failure(None), Some("a signal ended it"));
    }

    #[test]
    fn only_test_executables_are_run() {
        let message = |executable: &str, is_test: bool| {
            format!(
                r#"{{"reason": "compiler-artifact", "manifest_path": "/w/a/Cargo.toml",
                "profile": {{"test": {is_test}}}, "executable": {executable}}}"#
            )
        };
        let test = Test { file: "/t/add-1".into(), folder: "/w/a".into() };
        assert_eq!(executable(&message("\"/t/add-1\"", true)), Some(test));
        assert_eq!(executable(&message("\"/t/a\"", false)), None);
        assert_eq!(executable(&message("null", true)), None);
        assert_eq!(executable("running 3 tests"), None);
    }
}
