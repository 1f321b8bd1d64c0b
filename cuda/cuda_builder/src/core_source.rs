//! Finds the source of `core` that matches the installed compiler exactly.
//!
//! No toolchain ships a compiled `core` for the GPU, so cargo compiles it from source. This module
//! looks for the source in three places: a folder that the user names, the toolchain, and the
//! folder into which an earlier build downloaded it. If all three lack it, the module installs
//! rustup's component `rust-src`. If that fails, the module downloads Debian's package `rust-src`
//! of the compiler's version. If every attempt fails, one error lists all of them.

mod debian;

use crate::BuildError;
use crate::toolchain::{Installed, LIBRARY};
use crate::workplace;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the `library` folder of the compiler's source.
pub(crate) const VARIABLE: &str = "CUDA_BUILDER_CORE_SRC";

/// Returns the `library` folder of the compiler's source.
///
/// The caller must hold the lock of the folder `workplace`, so that two builds do not download the
/// source at the same time. `named` is the folder that the user passed to the builder.
pub(crate) fn find(
    installed: &Installed,
    workplace: &Path,
    named: Option<&Path>,
) -> Result<PathBuf, BuildError> {
    let mut tried = Vec::new();

    // A folder named by the user comes first, so the user can override the other sources.
    let variable = env::var_os(VARIABLE).map(PathBuf::from);
    for (who, folder) in [("CudaBuilder::core_source", named), (VARIABLE, variable.as_deref())] {
        if let Some(folder) = folder {
            if is_library(folder) {
                return Ok(folder.to_owned());
            }
            tried.push(format!("{who}: `{}` has no core/src/lib.rs", folder.display()));
        }
    }

    let own = installed.sysroot.join(LIBRARY);
    if is_library(&own) {
        return Ok(own);
    }
    tried.push(format!("the toolchain: no `{}`", own.display()));

    let cached = workplace.join(format!("core-{}", installed.version)).join("library");
    if is_library(&cached) {
        return Ok(cached);
    }

    match add_component(installed) {
        Ok(()) if is_library(&own) => return Ok(own),
        Ok(()) => tried.push("rustup: added rust-src, but the source is still missing".to_owned()),
        Err(reason) => tried.push(format!("rustup: {reason}")),
    }

    match debian::fetch(&installed.version, &cached, workplace) {
        Ok(()) if is_library(&cached) => return Ok(cached),
        Ok(()) => tried.push("Debian: the package has no `core`".to_owned()),
        Err(reason) => tried.push(format!("Debian: {reason}")),
    }

    Err(BuildError::Invalid(format!(
        "the source of `core` for rustc {} is missing, and kernels need it: run `rustup component \
         add rust-src`, or set {VARIABLE} to the `library` folder of that version's source; tried:\n{}",
        installed.version,
        tried.join("\n")
    )))
}

fn is_library(folder: &Path) -> bool {
    folder.join("core/src/lib.rs").is_file() && folder.join("Cargo.lock").is_file()
}

/// Installs rustup's component `rust-src` in the toolchain, unless the variable
/// `RUSTUP_AUTO_INSTALL` is `0`.
fn add_component(installed: &Installed) -> Result<(), String> {
    if env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0") {
        return Err("RUSTUP_AUTO_INSTALL=0 forbids the installation".to_owned());
    }
    // `rustup component add` selects a toolchain by its name. If rustup did not install the
    // compiler's toolchain, the command would change another toolchain of the same name.
    let toolchain =
        installed.sysroot.file_name().ok_or("the path of the toolchain names no folder")?;
    let is_rustups =
        installed.sysroot.join("lib/rustlib/multirust-channel-manifest.toml").is_file();
    if !is_rustups {
        return Err("the toolchain was not installed by rustup".to_owned());
    }
    let mut command = Command::new("rustup");
    command
        .current_dir(&installed.folder)
        .args(["component", "add", "rust-src", "--toolchain"])
        .arg(toolchain);
    run(&mut command).map(drop)
}

/// Runs a command. Returns its standard output if it succeeds, and otherwise an error text with the
/// last line of its standard error.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot start `{name}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(format!("`{name}` failed: {}", last.unwrap_or("no reason given")))
}

/// Creates a folder and its parents. Converts an error to text.
fn create(folder: &Path) -> Result<(), String> {
    workplace::create_folder(folder).map_err(|error| error.to_string())
}
