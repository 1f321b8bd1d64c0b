//! Parses the command line and calls the subcommand.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{doctor, new, profile, ptx, sanitize, sass, test};
use crate::error::Error;

/// Creates, checks, inspects and tests Rust programs with CUDA kernels.
#[derive(Debug, Parser)]
#[command(name = "cargo cuda", bin_name = "cargo cuda", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::Args),
    Doctor(doctor::Args),
    Ptx(ptx::Args),
    Sass(sass::Args),
    Test(test::Args),
    Profile(profile::Args),
    Sanitize(sanitize::Args),
}

/// Runs the program and returns its exit code.
pub(crate) fn main() -> ExitCode {
    let (own, rest) = arguments(std::env::args_os());
    let cli = match Cli::try_parse_from(own) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match cli.command.run(rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Command {
    /// Runs the subcommand. `rest` contains the arguments from `--` on.
    fn run(self, rest: Vec<OsString>) -> Result<ExitCode, Error> {
        match self {
            Self::New(args) => new::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Ptx(args) => ptx::run(&args),
            Self::Sass(args) => sass::run(&args),
            Self::Test(args) => test::run(args, rest),
            Self::Profile(args) => profile::run(args, rest),
            Self::Sanitize(args) => sanitize::run(args, rest),
        }
    }
}

/// Removes the argument `cuda` that cargo adds before the user's arguments. For a subcommand that passes arguments to
/// `cargo test`, also splits off those from `--` on, because clap would remove the `--`.
fn arguments(all: impl IntoIterator<Item = OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let mut all: Vec<OsString> = all.into_iter().collect();
    if all.get(1).is_some_and(|first| first == "cuda") {
        all.remove(1);
    }
    const PASS_ON: [&str; 3] = ["test", "profile", "sanitize"];
    let passes_on = all.get(1).is_some_and(|name| PASS_ON.iter().any(|one| name == one));
    let end = all.iter().position(|argument| passes_on && argument == "--").unwrap_or(all.len());
    let rest = all.split_off(end);
    (all, rest)
}

/// Prints the help text or a usage error. Returns the exit code: 0 for help, 2 for an error.
fn usage(error: &clap::Error) -> ExitCode {
    // A failure to print, for example into a closed pipe, cannot be reported.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(texts: &[&str]) -> (Vec<OsString>, Vec<OsString>) {
        arguments(texts.iter().map(OsString::from))
    }

    #[test]
    fn cargos_own_argument_is_removed_once() {
        assert_eq!(split(&["cargo-cuda", "cuda", "new", "x"]).0, ["cargo-cuda", "new", "x"]);
        assert_eq!(split(&["cargo-cuda", "new", "cuda"]).0, ["cargo-cuda", "new", "cuda"]);
    }

    #[test]
    fn arguments_for_test_executables_keep_their_dashes() {
        let (own, rest) = split(&["cargo-cuda", "cuda", "test", "--", "--nocapture", "--"]);
        assert_eq!(own, ["cargo-cuda", "test"]);
        assert_eq!(rest, ["--", "--nocapture", "--"]);
        let (own, rest) = split(&["cargo-cuda", "new", "--", "x"]);
        assert_eq!((own.len(), rest.len()), (4, 0));
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
