//! `ptxas`, NVIDIA's assembler: not needed to build, but it knows registers and spills.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::target;

/// The wheel that holds it, and where in there.
const WHEEL: &str = "nvidia-cuda-nvcc==13.0.88";
const INSIDE: &str = "nvidia/cu13/bin/ptxas";

/// A `ptxas` for the kernels' builds: `None` where `cuda_builder` finds one by itself, or none can be
/// had. Fetches NVIDIA's wheel into the target folder if there is pip.
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
            eprintln!("no ptxas: registers and spills of the kernels go unchecked");
            return None;
        }
    }
    ptxas.exists().then_some(ptxas)
}
