//! `panoweave man`: writes the manual pages of the program and of each subcommand.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use serde_json::json;

use crate::output;
use crate::output::failure::{Failure, Kind};

/// Writes the manual pages, panoweave.1 and one for each command, to a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  mkdir -p ~/.local/share/man/man1
  panoweave man ~/.local/share/man/man1
  man panoweave-stitch

Debian's package installs these pages.")]
pub(crate) struct Args {
    /// The folder for the pages. Pages that are there are replaced.
    folder: PathBuf,
}

/// Runs `panoweave man` for the definition `program` of the command line.
pub(crate) fn run(args: &Args, program: Command, as_json: bool) -> Result<(), Failure> {
    // The subcommand `help` would get a page for each of its own subcommands.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    write(&program, args, &mut pages)?;
    if as_json {
        return output::print_json(&json!({ "pages": pages }));
    }
    output::print(&pages.iter().map(|page| format!("{}\n", page.display())).collect::<String>())
}

/// Writes the page of `command` and of each subcommand below it. Adds the paths to `pages`.
fn write(command: &Command, args: &Args, pages: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let folder = &args.folder;
    let unwritable = |error| {
        Failure::new(
            Kind::Output,
            format!(
                "{}: manual pages cannot be written: {error}; give an existing folder",
                folder.display()
            ),
        )
    };
    let page = Man::new(command.clone()).manual("panoweave").generate_to(folder);
    pages.push(page.map_err(unwritable)?);
    command.get_subcommands().try_for_each(|command| write(command, args, pages))
}
