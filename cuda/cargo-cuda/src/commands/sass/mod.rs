//! `cargo cuda sass`: lists the kernels, or prints the machine code of one kernel.

mod disassembly;
mod sources;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::commands::ptx;
use crate::compile::{Compiled, Selection};
use crate::error::Error;
use crate::output::print;
use crate::tools::{self, CUOBJDUMP, NVDISASM, PTXAS};
use crate::workspace::Workspace;
use disassembly::Item;
use sources::Sources;

/// Prints the machine code (SASS) of a kernel, or lists all kernels with their registers.
///
/// Needs `ptxas`, and `nvdisasm` or `cuobjdump`. The driver compiles the same PTX with its own version of `ptxas`, so
/// the code on a GPU can differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Prints the Rust source line before the instructions that it caused. Needs `nvdisasm`.
    #[arg(long)]
    lines: bool,
}

/// Compiles the kernels and prints the result.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let Some(name) = &args.selection.kernel else {
        ptx::show_list(&args.selection.compile(false)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    // Missing tools are reported before the compilation, which takes longer.
    let ptxas = PTXAS.required()?;
    let disassembler = Disassembler::find(args.lines)?;
    let compiled = args.selection.compile(args.lines)?;
    compiled.check(name)?;
    let cubin = assemble(&ptxas, &compiled, args.lines)?;
    let items = disassembler.run(&cubin, name)?;
    if items.is_empty() {
        return Err(Error::NoEntry { kernel: name.clone(), file: cubin });
    }
    let mut sources = match args.lines {
        true => Some(Sources::new(Workspace::with_dependencies()?)),
        false => None,
    };
    let mut text = String::new();
    for item in items {
        let line = match (item, &mut sources) {
            (Item::Code(line), _) => line,
            (Item::Source { file, line }, Some(sources)) => sources.describe(&file, line),
            (Item::Source { .. }, None) => continue,
        };
        text.push_str(&line);
        text.push('\n');
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Assembles the PTX and returns the path of the machine code.
fn assemble(ptxas: &Path, compiled: &Compiled, lines: bool) -> Result<PathBuf, Error> {
    let ptx = compiled.path();
    let cubin = ptx.with_extension("cubin");
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={}", compiled.arch)).args(lines.then_some("-lineinfo"));
    tools::run(ptxas, command.arg("-o").arg(&cubin).arg(&ptx))?;
    Ok(cubin)
}

/// A program that prints machine code.
enum Disassembler {
    Nvdisasm(PathBuf),
    Cuobjdump(PathBuf),
}

impl Disassembler {
    /// Finds a disassembler. Only `nvdisasm` knows source lines.
    fn find(lines: bool) -> Result<Self, Error> {
        match (NVDISASM.find(), CUOBJDUMP.find()) {
            (Some(path), _) => Ok(Self::Nvdisasm(path)),
            (None, Some(path)) if !lines => Ok(Self::Cuobjdump(path)),
            (None, _) => Err(NVDISASM.missing()),
        }
    }

    /// Returns the machine code of a kernel. It is empty if the kernel is not in the file.
    fn run(&self, cubin: &Path, kernel: &str) -> Result<Vec<Item>, Error> {
        match self {
            Self::Nvdisasm(path) => {
                let mut command = Command::new(path);
                let text = tools::run(path, command.args(["-c", "-g"]).arg(cubin))?;
                Ok(disassembly::nvdisasm(&text, kernel))
            }
            Self::Cuobjdump(path) => {
                let mut command = Command::new(path);
                command.args(["-sass", "-fun", kernel]).arg(cubin);
                Ok(disassembly::cuobjdump(&tools::run(path, &mut command)?))
            }
        }
    }
}
