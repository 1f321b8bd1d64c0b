//! `cargo cuda ptx`: lists the kernels, or prints the PTX of one kernel.

mod list;

use std::process::ExitCode;

use cust::typed::SplitPtx;

use crate::compile::{Compiled, Selection};
use crate::error::Error;
use crate::output::print;
use crate::tools::PTXAS;

/// Prints a module with the PTX of one kernel, or lists all kernels with their registers.
///
/// The list contains registers, shared memory and spills if `ptxas` is installed. The command compiles with the default
/// settings of `CudaBuilder`, not with those of a build script.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Adds comments with the source line of each instruction.
    #[arg(long)]
    lines: bool,
}

/// Compiles the kernels and prints the result.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let compiled = args.selection.compile(args.lines)?;
    match &args.selection.kernel {
        None => show_list(&compiled)?,
        Some(name) => {
            compiled.check(name)?;
            print(&SplitPtx::new(compiled.text).kernel(name).unwrap_or_default())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints all kernels, and how to get their resources if they are not known.
pub(crate) fn show_list(compiled: &Compiled) -> Result<(), Error> {
    print(&list::table(&compiled.build.kernels))?;
    match &compiled.build.ptxas {
        Some(ptxas) => eprintln!("measured for {} by ptxas: {ptxas}", compiled.arch),
        None => eprintln!("`ptxas` did not measure the kernels: {}", PTXAS.remedy),
    }
    Ok(())
}
