//! Runs NVIDIA's assembler, if installed, to measure each kernel's resources and find errors.
//!
//! The build does not need `ptxas`. If `ptxas` is found, the build fails for a kernel that does not
//! fit its launch bounds, and under [`Spills::Deny`] for a kernel that spills registers. Without
//! this check, such a kernel would only run slowly. The machine code is discarded, because the
//! driver of the target system assembles the PTX for its GPU.

mod parse;

use crate::report::KernelReport;
use crate::tool::{self, find_tool};
use crate::{Arch, Spills};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use parse::Function;

/// The environment variables that select a `ptxas`. The first variable names the program, or
/// disables `ptxas` if it is empty. The other two name CUDA installations.
pub(crate) const VARIABLES: [&str; 3] =
    ["CUDA_BUILDER_PTXAS", tool::INSTALLATIONS[0], tool::INSTALLATIONS[1]];

/// The number of registers of a multiprocessor, which is the same on every [`Arch`].
const REGISTERS: u32 = 65_536;
/// The unit of register allocation: the GPU rounds the number of registers per thread up to a
/// multiple of this number.
const REGISTER_UNIT: u32 = 8;
const WARP: u32 = 32;

/// The `ptxas` programs to try.
pub(crate) struct Candidates {
    /// The paths of the programs, in the order in which to try them.
    programs: Vec<PathBuf>,
    /// Whether the user named the program. If so, it is an error if the program cannot be started.
    wanted: bool,
}

impl Candidates {
    pub(crate) fn find(named: Option<&Path>) -> Self {
        match named.map(OsString::from).or_else(|| env::var_os(VARIABLES[0])) {
            Some(named) if named.is_empty() => Self { programs: Vec::new(), wanted: true },
            Some(named) => Self { programs: vec![PathBuf::from(named)], wanted: true },
            None => Self { programs: find_tool("ptxas"), wanted: false },
        }
    }
}

/// Assembles the file `ptx` with the first candidate that supports its PTX version and
/// architecture, and stores the measured resources in `kernels`. Returns the version of that
/// candidate, or `None` if no candidate supports the file.
pub(crate) fn measure(
    candidates: &Candidates,
    arch: Arch,
    ptx: &Path,
    spills: Spills,
    kernels: &mut [KernelReport],
) -> Result<Option<String>, String> {
    for program in &candidates.programs {
        let mut command = Command::new(program);
        command.arg(format!("-arch={arch}")).args(["-v", "-o", "/dev/null"]).arg(ptx);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if candidates.wanted => {
                return Err(format!(
                    "cannot run the ptxas `{}`: {error}; correct the path in CUDA_BUILDER_PTXAS or \
                     `CudaBuilder::ptxas`; to build without ptxas, set that path to an empty string",
                    program.display()
                ));
            }
            // A program that was found automatically but cannot be started is skipped.
            Err(_) => continue,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            if let Some(warning) = parse::ignored(&said) {
                return Err(format!(
                    "ptxas ignores a directive: {warning}; use launch bounds that every requested \
                     architecture can satisfy"
                ));
            }
            check(&parse::functions(&said), spills, kernels)?;
            return Ok(Some(version(program)));
        }
        if candidates.wanted || !parse::is_too_old(&said) {
            return Err(format!(
                "ptxas rejects the PTX:\n{}\nthe driver would reject it, too; correct the kernel or \
                 its `asm!`",
                said.trim()
            ));
        }
    }
    Ok(None)
}

fn check(
    functions: &[Function],
    spills: Spills,
    kernels: &mut [KernelReport],
) -> Result<(), String> {
    if spills == Spills::Deny
        && let Some(spill) = functions.iter().find_map(|one| one.resources.spill(&one.name))
    {
        return Err(spill);
    }
    for kernel in kernels {
        let Some(function) = functions.iter().find(|f| f.name == kernel.name) else { continue };
        kernel.resources = Some(function.resources);
        let registers = function.resources.registers;
        let max_threads = kernel.max_threads.unwrap_or(1);
        let min_blocks = kernel.min_blocks.unwrap_or(1);
        let block = u64::from(registers.next_multiple_of(REGISTER_UNIT))
            * u64::from(max_threads.next_multiple_of(WARP));
        if block * u64::from(min_blocks) > u64::from(REGISTERS) {
            return Err(format!(
                "kernel `{}` uses {registers} registers per thread, so {min_blocks} blocks of \
                 {max_threads} threads need more than the {REGISTERS} registers of a \
                 multiprocessor; lower the launch bounds",
                kernel.name
            ));
        }
    }
    Ok(())
}

/// Returns the line of the output of `ptxas --version` that names the release, or `unknown`.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines().find(|line| line.contains("release")).unwrap_or("unknown").trim().to_owned()
}

#[cfg(test)]
mod tests;
