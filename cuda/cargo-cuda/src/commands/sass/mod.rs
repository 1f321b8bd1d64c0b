//! `cargo cuda sass`: lists the kernels, or prints the machine code of one kernel.

mod sources;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::commands::ptx;
use crate::compile::{Compiled, Selection};
use crate::error::Error;
use crate::output::print;
use crate::tools::{self, NVDISASM, PTXAS};
use crate::workspace::Workspace;
use sources::Sources;

/// Prints the machine code (SASS) of a kernel, or lists all kernels with their registers.
///
/// Needs `ptxas` and `nvdisasm`. The driver compiles the same PTX with its own version of `ptxas`, so
/// the code on a GPU can differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Prints the Rust source line before the instructions that it caused.
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
    let nvdisasm = NVDISASM.required()?;
    let compiled = args.selection.compile(args.lines)?;
    compiled.check(name)?;
    let cubin = assemble(&ptxas, &compiled, args.lines)?;
    let mut disassemble = Command::new(&nvdisasm);
    let text = tools::run(&nvdisasm, disassemble.args(["-c", "-g"]).arg(&cubin))?;
    let items = parse(&text, name);
    if items.is_empty() {
        let file = cubin.display();
        return Err(Error::new(format!(
            "cannot find the kernel `{name}` in `{file}`; this is a bug in cargo-cuda"
        )));
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
    let ptx = &compiled.build.ptx;
    let cubin = ptx.with_extension("cubin");
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={}", compiled.arch)).args(lines.then_some("-lineinfo"));
    tools::run(ptxas, command.arg("-o").arg(&cubin).arg(ptx))?;
    Ok(cubin)
}

/// A line of the machine code of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// An instruction or a label.
    Code(String),
    /// The source line of the following instructions.
    Source {
        /// The path of the file in the line table.
        file: String,
        line: usize,
    },
}

/// Returns the code of `kernel` in the output of `nvdisasm -c -g`.
fn parse(text: &str, kernel: &str) -> Vec<Item> {
    let label = format!(".text.{kernel}:");
    let code = text.lines().skip_while(|line| line.trim() != label).skip(1);
    // The code of the kernel ends at the heading of the next section.
    let code = code.take_while(|line| !line.starts_with("//-----") && !line.contains("\t.section"));
    code.filter(|line| !line.trim().is_empty())
        .filter_map(|line| match line.trim().strip_prefix("//##") {
            Some(place) => source(place),
            None => Some(Item::Code(line.trim_end().to_owned())),
        })
        .collect()
}

/// Parses the place in a comment such as `//## File "/workspace/src/lib.rs", line 7`.
fn source(place: &str) -> Option<Item> {
    let (file, rest) = place.split_once("File \"")?.1.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Item::Source { file: file.to_owned(), line: digits.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Item {
        Item::Code(line.to_owned())
    }

    #[test]
    fn one_kernel_is_read_with_its_source_lines() {
        let text = "\
\t.target\tsm_75

//--------------------- .text.add2                --------------------------
\t.section\t.text.add2,\"ax\",@progbits
add2:
.text.add2:
        /*0000*/                   NOP ;

//--------------------- .text.add                 --------------------------
\t.section\t.text.add,\"ax\",@progbits
        .type           add,@function
add:
.text.add:
\t//## File \"/workspace/src/lib.rs\", line 7
        /*0000*/                   S2R R0, SR_CTAID.X ;
\t//## File \"/crates/x-1.0.0/a.rs\", line 12 inlined at \"/workspace/src/lib.rs\", line 9
.L_x_1:
        /*0010*/              @!P0 EXIT ;
";
        let place = |file: &str, line| Item::Source { file: file.to_owned(), line };
        let expected = [
            place("/workspace/src/lib.rs", 7),
            code("        /*0000*/                   S2R R0, SR_CTAID.X ;"),
            place("/crates/x-1.0.0/a.rs", 12),
            code(".L_x_1:"),
            code("        /*0010*/              @!P0 EXIT ;"),
        ];
        assert_eq!(parse(text, "add"), expected);
        assert_eq!(parse(text, "add2"), [code("        /*0000*/                   NOP ;")]);
        assert_eq!(parse(text, "other"), []);
    }
}
