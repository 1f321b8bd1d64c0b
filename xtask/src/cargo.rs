//! Runs cargo and other commands, and locates the workspace and its target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// Returns the root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Returns cargo's target folder: the value of `CARGO_TARGET_DIR`, or the folder `target` in the workspace's root.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Creates a cargo command that runs in the root folder of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Creates a cargo command that runs in the workspace of the kernel kit, `cuda/`.
pub(crate) fn kit(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(root().join("cuda"));
    command
}

/// Runs a command and returns an error if it fails.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Runs a command and returns its standard output. The command's standard error is printed as usual.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout)?)
    } else {
        Err(format!("{command:?} failed: {}", output.status).into())
    }
}

/// Returns the target triple of this machine.
pub(crate) fn host() -> Result<String> {
    let version = output(Command::new("rustc").current_dir(root()).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("`rustc -vV` does not state its host")?.to_owned())
}
