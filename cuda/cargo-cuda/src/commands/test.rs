//! `cargo cuda test`: runs `cargo test` with the checks of the CPU simulator.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::error::Error;
use crate::workspace::{cargo, exit_code};

/// The environment variable that selects the checks of the simulator.
const VARIABLE: &str = "CUDA_CPU_CHECKS";

/// The checks that are always on: races on shared memory and on global memory.
const CHECKS: &str = "shared,global";

/// Runs `cargo test` with all checks of the CPU simulator.
///
/// The simulator then reports races on shared and global memory, also in release builds. Kernels that a test runs on a
/// GPU are not checked: use `cargo cuda sanitize` for them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs the tests N times. Each run uses another order of blocks and threads, so that a result that depends on the
    /// order fails a test.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Arguments for `cargo test`, such as `--release`, a filter, or `-- --nocapture`.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Runs the tests. `rest` contains further arguments for `cargo test`. Stops after the first run that fails, and
/// returns its exit code.
pub(crate) fn run(args: Args, rest: Vec<OsString>) -> Result<ExitCode, Error> {
    for checks in runs(args.seeds) {
        if args.seeds.is_some() {
            eprintln!("running the tests with {VARIABLE}={checks}");
        }
        let mut command = cargo();
        command.arg("test").args(&args.args).args(&rest).env(VARIABLE, &checks);
        let status = command.status().map_err(Error::start("cargo", "run the tests"))?;
        if !status.success() {
            let given = args.args.iter().chain(&rest);
            let given: String = given.map(|arg| format!(" {}", arg.to_string_lossy())).collect();
            eprintln!(
                "the tests failed; to repeat this run: {VARIABLE}={checks} cargo test{given}"
            );
            return Ok(exit_code(status));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the value of the variable for each run.
fn runs(seeds: Option<u32>) -> Vec<String> {
    match seeds {
        None => vec![CHECKS.to_owned()],
        Some(seeds) => (1..=seeds).map(|seed| format!("{CHECKS},order={seed}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_is_one_run() {
        assert_eq!(runs(None), ["shared,global"]);
        assert_eq!(runs(Some(2)), ["shared,global,order=1", "shared,global,order=2"]);
    }
}
