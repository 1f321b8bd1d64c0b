//! Provides `ptxas`, NVIDIA's assembler. Builds do not need it, but it reports registers and spills.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::target;

/// The Python wheel that contains `ptxas`.
const WHEEL: &str = "nvidia-cuda-nvcc==13.0.88";
/// The path of `ptxas` in the wheel.
const INSIDE: &str = "nvidia/cu13/bin/ptxas";

/// Returns a `ptxas` for kernel builds, or `None` if `cuda_builder` finds one itself or the download fails. Uses pip
/// to download NVIDIA's wheel into the target folder.
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
            ])
            .arg("--target")
            .arg(&folder)
            .arg(WHEEL)
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            eprintln!(
                "cannot install {WHEEL} with pip, so the registers and spills of the kernels are not checked"
            );
            return None;
        }
    }
    ptxas.exists().then_some(ptxas)
}
