//! Runs NVIDIA's assembler, if installed, to measure each kernel's resources and find errors.
//!
//! The build does not need `ptxas`. If `ptxas` is found, the build fails for a kernel that does not
//! fit its launch bounds, and under [`Spills::Deny`] for a kernel that spills registers. Without
//! this check, such a kernel would only run slowly. The machine code is discarded, because the
//! driver of the target system assembles the PTX for its GPU.

mod find;
mod parse;

use crate::report::{KernelReport, Resources};
use crate::{Arch, PtxasError, Spills};
use std::path::Path;
use std::process::Command;

pub(crate) use find::{Candidates, VARIABLES};
use parse::Function;

/// The number of registers of a multiprocessor, which is the same on every [`Arch`].
const REGISTERS: u32 = 65_536;
/// The unit of register allocation: the GPU rounds the number of registers per thread up to a
/// multiple of this number.
const REGISTER_UNIT: u32 = 8;
const WARP: u32 = 32;

/// Assembles the file `ptx` with the first candidate that supports its PTX version and
/// architecture, and stores the measured resources in `kernels`. Returns the version of that
/// candidate, or `None` if no candidate supports the file.
pub(crate) fn measure(
    candidates: &Candidates,
    arch: Arch,
    ptx: &Path,
    spills: Spills,
    kernels: &mut [KernelReport],
) -> Result<Option<String>, PtxasError> {
    for program in &candidates.programs {
        let run = Command::new(program)
            .arg(format!("-arch={arch}"))
            .args(["-v", "-o", "/dev/null"])
            .arg(ptx)
            .output();
        let output = match run {
            Ok(output) => output,
            Err(error) if candidates.wanted => {
                return Err(PtxasError::Run {
                    program: program.display().to_string(),
                    reason: error.to_string(),
                });
            }
            // A program that was found automatically but cannot be started is skipped.
            Err(_) => continue,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            if let Some(warning) = parse::ignored(&said) {
                return Err(PtxasError::Ignored { warning: warning.to_owned() });
            }
            check(&parse::functions(&said), spills, kernels)?;
            return Ok(Some(version(program)));
        }
        if candidates.wanted || !parse::is_too_old(&said) {
            return Err(PtxasError::Refused { stderr: said.trim().to_owned() });
        }
    }
    Ok(None)
}

fn check(
    functions: &[Function],
    spills: Spills,
    kernels: &mut [KernelReport],
) -> Result<(), PtxasError> {
    for function in functions {
        let Resources { spill_store_bytes: stores, spill_load_bytes: loads, .. } =
            function.resources;
        if spills == Spills::Deny && stores + loads > 0 {
            return Err(PtxasError::Spill { function: function.name.clone(), stores, loads });
        }
    }
    for kernel in kernels {
        let Some(function) = functions.iter().find(|f| f.name == kernel.name) else {
            continue;
        };
        kernel.resources = Some(function.resources);
        let registers = function.resources.registers;
        let max_threads = kernel.max_threads.unwrap_or(1);
        let min_blocks = kernel.min_blocks.unwrap_or(1);
        let block = u64::from(registers.next_multiple_of(REGISTER_UNIT))
            * u64::from(max_threads.next_multiple_of(WARP));
        if block * u64::from(min_blocks) > u64::from(REGISTERS) {
            return Err(PtxasError::OverBounds {
                kernel: kernel.name.clone(),
                registers,
                max_threads,
                min_blocks,
                limit: REGISTERS,
            });
        }
    }
    Ok(())
}

/// Returns the line of the output of `ptxas --version` that names the release, or `unknown`.
fn version(program: &Path) -> String {
    Command::new(program)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let line = text.lines().find(|line| line.contains("release"))?;
            Some(line.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests;
