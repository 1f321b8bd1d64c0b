//! `cargo cuda profile`: runs the tests on the CPU simulator and reports the memory requests of their kernels.

mod read;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use cust::typed::Profile;

use crate::error::Error;
use crate::output::print;
use crate::workspace::{Workspace, cargo, exit_code};

/// The environment variable that contains the name of the file with the profile.
const VARIABLE: &str = "CUDA_CPU_PROFILE";

/// Runs the tests on the CPU and prints, for each kernel, the lines with uncoalesced accesses, bank conflicts and
/// divergence.
///
/// The tests run without GPUs. Their output goes to stderr.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Prints JSON instead of the table.
    #[arg(long)]
    json: bool,
    /// Arguments for `cargo test`, such as `--release`, a filter, or `-- --nocapture`.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Runs the tests and prints the profile, also if a test fails. `rest` contains further arguments for `cargo test`.
/// Returns the exit code of `cargo test`.
pub(crate) fn run(args: Args, rest: Vec<OsString>) -> Result<ExitCode, Error> {
    let target = Workspace::members()?.target;
    // Each test executable writes a file of its own. The files of an earlier run must not count.
    let folder = target.join("cuda-profile");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("delete", &folder)(error));
        }
        _ => {}
    }
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let mut command = cargo();
    command.arg("test");
    // Without this option, the first test program that fails would be the last one that runs.
    const ALL: &str = "--no-fail-fast";
    if !args.args.iter().chain(&rest).any(|argument| argument == ALL) {
        command.arg(ALL);
    }
    command.args(&args.args).args(&rest);
    command.env(VARIABLE, folder.join("%p.json")).stdout(Stdio::from(io::stderr()));
    // `Device::auto` chooses the CPU if there is no GPU, and `cust::init` does so with the second variable.
    command.env("CUDA_VISIBLE_DEVICES", "-1").env("CUST_DEVICE", "cpu");
    let status = command.status().map_err(Error::start("cargo", "run the tests"))?;
    let profile = merged(&folder)?;
    if profile.kernels.is_empty() && status.success() {
        return Err(Error::new(
            "no test launched a kernel on the CPU, so there is no profile; write a test that launches one, with \
             `Device::cpu()` for example",
        ));
    }
    print(&if args.json { profile.to_json() } else { profile.to_string() })?;
    Ok(exit_code(status))
}

/// Returns the sum of the profiles in a folder.
fn merged(folder: &Path) -> Result<Profile, Error> {
    let mut profile = Profile::default();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let file = entry.map_err(Error::io("read", folder))?.path();
        let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        profile.merge(read::parse(&text).ok_or_else(|| {
            let file = file.display();
            Error::new(format!(
                "cannot read the profile `{file}`: the tests use another version of the kit; install the cargo-cuda \
                 of that version"
            ))
        })?);
    }
    Ok(profile)
}
