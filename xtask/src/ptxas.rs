//! Provides `ptxas`, NVIDIA's assembler. Kernels can be built without `ptxas`, but only `ptxas` reports the number of
//! registers and the register spills of a kernel.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{root, target};

/// The requirement of pip for the Python package that contains `ptxas`, in the workspace. pip refuses a package with
/// another hash.
const REQUIREMENT: &str = "xtask/src/ptxas.txt";
/// The path of `ptxas` in the Python package.
const INSIDE: &str = "nvidia/cu13/bin/ptxas";

/// Returns the path of `ptxas` from NVIDIA's Python package. If necessary, first downloads the package into the target
/// folder with pip. Returns `None` if the download fails, or if `cuda_builder` finds another `ptxas` on its own.
pub(crate) fn provide() -> Option<PathBuf> {
    let works = |ptxas: &str| {
        Command::new(ptxas).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    if std::env::var_os("CUDA_BUILDER_PTXAS").is_some() || works("ptxas") {
        return None;
    }
    let folder = target().join("ptxas");
    let ptxas = folder.join(INSIDE);
    if !ptxas.exists() {
        let installed = Command::new("python3")
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--root-user-action=ignore",
                "--no-deps",
                "--only-binary=:all:",
                "--require-hashes",
            ])
            .arg("--target")
            .arg(&folder)
            .arg("--requirement")
            .arg(root().join(REQUIREMENT))
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            eprintln!(
                "cannot install the package in {REQUIREMENT} with pip, so the registers and spills of the kernels are not checked; install pip, or set CUDA_BUILDER_PTXAS"
            );
            return None;
        }
    }
    ptxas.exists().then_some(ptxas)
}
