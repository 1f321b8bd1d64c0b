//! Finds `ptxas` in a CUDA installation, or in a Python wheel that contains only the compiler.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variables that select a `ptxas`. The first variable names the program, or
/// disables `ptxas` if it is empty. The other two name CUDA installations.
pub(crate) const VARIABLES: [&str; 3] = ["CUDA_BUILDER_PTXAS", "CUDA_PATH", "CUDA_HOME"];

/// The folders of the wheels `nvidia-cuda-nvcc` and `nvidia-cuda-nvcc-cu12` in site-packages.
const WHEELS: [&str; 2] = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"];

/// The `ptxas` programs to try.
pub(crate) struct Candidates {
    /// The paths of the programs, in the order in which to try them.
    pub(crate) programs: Vec<PathBuf>,
    /// Whether the user named the program. If so, it is an error if the program cannot be started.
    pub(crate) wanted: bool,
}

impl Candidates {
    pub(crate) fn find(named: Option<&Path>) -> Self {
        let [variable, installations @ ..] = VARIABLES;
        if let Some(named) = named.map(OsString::from).or_else(|| env::var_os(variable)) {
            let programs = if named.is_empty() { Vec::new() } else { vec![PathBuf::from(named)] };
            return Self { programs, wanted: true };
        }
        let mut folders: Vec<PathBuf> =
            env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        folders.extend(
            installations.iter().filter_map(env::var_os).map(|home| Path::new(&home).join("bin")),
        );
        folders.push(PathBuf::from("/usr/local/cuda/bin"));
        let mut programs = existing(folders);
        if programs.is_empty() {
            programs = existing(wheel_folders());
        }
        Self { programs, wanted: false }
    }
}

fn existing(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders
        .into_iter()
        .map(|folder| folder.join("ptxas"))
        .filter(|program| program.is_file())
        .collect()
}

/// Returns the folders in Python's module search path where the wheels would put `ptxas`. Reading
/// the search path with `python3` takes several hundredths of a second, which is faster than asking
/// pip.
fn wheel_folders() -> Vec<PathBuf> {
    let Ok(output) =
        Command::new("python3").args(["-c", "import sys; print(*sys.path, sep='\\n')"]).output()
    else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        .flat_map(|site| WHEELS.iter().map(|wheel| Path::new(site).join(wheel)))
        .collect()
}
