//! Finds NVIDIA's command-line tools in a CUDA installation, or in Python wheels that contain only
//! one tool.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variables that name CUDA installations.
pub(crate) const INSTALLATIONS: [&str; 2] = ["CUDA_PATH", "CUDA_HOME"];

/// The folders in site-packages where the wheels of CUDA 13 and CUDA 12 put their programs. `*`
/// stands for the name of the tool.
const WHEELS: [&str; 3] = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "nvidia/cuda_*/bin"];

/// Returns the paths of the CUDA tool `name`, such as `ptxas`, in order of precedence: PATH,
/// CUDA_PATH, CUDA_HOME, `/usr/local/cuda`. If no folder there contains the tool, returns its paths
/// in Python wheels, such as `nvidia-cuda-nvcc`.
///
/// The function does not run the tool and ignores the environment variable CUDA_BUILDER_PTXAS.
///
/// ```
/// for ptxas in cuda_builder::find_tool("ptxas") {
///     println!("{}", ptxas.display());
/// }
/// assert!(cuda_builder::find_tool("no-such-tool").is_empty());
/// ```
#[must_use]
pub fn find_tool(name: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(
        INSTALLATIONS.iter().filter_map(env::var_os).map(|home| Path::new(&home).join("bin")),
    );
    folders.push(PathBuf::from("/usr/local/cuda/bin"));
    let programs = existing(folders, name);
    if programs.is_empty() { existing(wheel_folders(name), name) } else { programs }
}

fn existing(folders: Vec<PathBuf>, name: &str) -> Vec<PathBuf> {
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .filter(|program| program.is_file())
        .collect()
}

/// Returns the folders in Python's module search path where the wheels would put the tool. Reading
/// the search path with `python3` takes some hundredths of a second, less than starting pip.
fn wheel_folders(name: &str) -> Vec<PathBuf> {
    let Ok(output) =
        Command::new("python3").args(["-c", "import sys; print(*sys.path, sep='\\n')"]).output()
    else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        .flat_map(|site| WHEELS.map(|wheel| Path::new(site).join(wheel.replace('*', name))))
        .collect()
}
