//! `panoweave completions`: prints a script with which a shell completes commands, options and file names.

use clap_complete::Shell;
use serde_json::json;

use crate::output;
use crate::output::failure::Failure;

/// Prints a script that lets a shell complete panoweave's commands, options and file names.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  panoweave completions bash > ~/.local/share/bash-completion/completions/panoweave
  panoweave completions fish > ~/.config/fish/completions/panoweave.fish
  panoweave completions zsh > ~/.zfunc/_panoweave    # ~/.zshrc: fpath+=~/.zfunc; autoload -U compinit; compinit

Debian's package installs these scripts.")]
pub(crate) struct Args {
    /// The shell that reads the script.
    shell: Shell,
}

/// Runs `panoweave completions` for the definition `program` of the command line.
pub(crate) fn run(args: &Args, program: &mut clap::Command, as_json: bool) -> Result<(), Failure> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, program, name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if as_json {
        return output::print_json(&json!({ "shell": args.shell.to_string(), "script": script }));
    }
    output::print(&script)
}
