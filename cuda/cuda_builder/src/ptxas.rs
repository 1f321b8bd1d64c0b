//! NVIDIA's assembler, where it is installed: what each kernel takes, and what it refuses.
//!
//! The build does not need it. Where it is found, a kernel that cannot keep the blocks its launch
//! bounds promise fails the build instead of running slowly, and so does one that spills registers
//! if [`Spills::Deny`] says so. The machine
//! code it makes is thrown away: the driver assembles the PTX for the GPU it meets.

mod find;
mod parse;

use crate::report::{KernelReport, Resources};
use crate::{Arch, PtxasError, Spills};
use std::path::Path;
use std::process::Command;

pub(crate) use find::{Candidates, VARIABLES};
use parse::Function;

/// Registers of a multiprocessor, the same on every architecture of [`Arch`].
const REGISTERS: u32 = 65_536;
/// A warp gets its registers in units of this many for each thread.
const REGISTER_UNIT: u32 = 8;
const WARP: u32 = 32;

/// Assembles `ptx` with the first candidate that knows its version and architecture, and fills in
/// what the kernels take. Gives that program's version; none where no candidate serves.
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
            // Found in passing and broken: as good as not found.
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

/// The line of `--version` that names the release.
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
