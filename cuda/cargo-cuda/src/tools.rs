//! NVIDIA's command-line tools: where to find them, and how to install a missing one.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::find_tool;

use crate::error::Error;

/// A tool of NVIDIA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// The purpose of the tool, as a verb phrase.
    pub(crate) purpose: &'static str,
    /// A command or a page that provides the tool.
    pub(crate) remedy: &'static str,
}

pub(crate) const PTXAS: Tool = Tool {
    name: "ptxas",
    purpose: "assemble kernels and report their registers",
    remedy: "run `pip install nvidia-cuda-nvcc`, or install the CUDA toolkit",
};

pub(crate) const NVDISASM: Tool = Tool {
    name: "nvdisasm",
    purpose: "print machine code with source lines",
    remedy: "run `pip install nvidia-cuda-nvdisasm`, or install the CUDA toolkit",
};

pub(crate) const SANITIZER: Tool = Tool {
    name: "compute-sanitizer",
    purpose: "check memory accesses and races on the GPU",
    remedy: "run `pip install nvidia-cuda-sanitizer-api`, or install the CUDA toolkit",
};

pub(crate) const GDB: Tool = Tool {
    name: "cuda-gdb",
    purpose: "debug kernels on the GPU",
    remedy: "install the CUDA toolkit",
};

impl Tool {
    /// Returns the path of the tool.
    pub(crate) fn find(self) -> Option<PathBuf> {
        if self == PTXAS
            && let Some(named) = env::var_os("CUDA_BUILDER_PTXAS")
        {
            return Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty());
        }
        find_tool(self.name).into_iter().next()
    }

    /// Returns the path of the tool, or an error that says how to install it.
    pub(crate) fn required(self) -> Result<PathBuf, Error> {
        let Self { name, purpose, remedy } = self;
        let missing =
            || Error::new(format!("cannot find `{name}`, which is needed to {purpose}; {remedy}"));
        self.find().ok_or_else(missing)
    }
}

/// Runs a tool and returns its output. An error contains the tool's own messages.
pub(crate) fn run(program: &Path, command: &mut Command) -> Result<String, Error> {
    let name = program.display().to_string();
    let output = command.output().map_err(Error::start(&name, "process a kernel"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stdout));
    let (status, said) = (output.status, said.trim());
    Err(Error::new(format!(
        "`{name}` failed ({status}):\n{said}\nif it is older than the PTX, install a newer version"
    )))
}

/// Returns the version in the output of `PROGRAM --version`, such as `13.0.88`. `None` if the program does not start or
/// prints no version.
pub(crate) fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| read_version(&said))?
}

/// Returns the first word of `said` that is a version: after `V` or `version`, or a number with two dots.
fn read_version(said: &str) -> Option<String> {
    let words = said.split([' ', ',', '\n', '\t']).map(|word| word.trim_start_matches(['V', 'v']));
    let is_version = |word: &&str| {
        let parts: Vec<_> = word.split('.').collect();
        parts.len() >= 2 && parts.iter().all(|part| part.parse::<u32>().is_ok())
    };
    let found: Vec<_> = words.filter(is_version).collect();
    let longest = found.iter().map(|word| word.matches('.').count()).max()?;
    found.into_iter().find(|word| word.matches('.').count() == longest).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_version_is_read() {
        let ptxas = "ptxas: NVIDIA (R) Ptx optimizing assembler\nBuilt on Wed_Aug_20\n\
            Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.1";
        assert_eq!(read_version(ptxas).as_deref(), Some("13.0.88"));
        let sanitizer =
            "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 1) (public-release)";
        assert_eq!(read_version(sanitizer).as_deref(), Some("2025.3.1.0"));
        assert_eq!(read_version("no version"), None);
    }
}
