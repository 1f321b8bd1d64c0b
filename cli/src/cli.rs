//! Parses the command line and calls the subcommand. This file defines only the options that all subcommands share;
//! each subcommand's module defines its own options.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::commands::{
    calibrate, compare, completions, features, info, man, quality, rig, run, stitch, trajectory,
    video, warp,
};
use crate::output::interrupt::{self, Interrupt};
use crate::output::{log, report};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

/// The heading in `--help` above the options that all subcommands share.
const COMMON: &str = "Common options";

/// The text of `panoweave` alone, which `-h` shows, too.
const FIRST: &str = "\
Two or more recordings become one video, and one moment of it a picture:
  panoweave video a.mp4 b.mp4 -o match.mp4
  panoweave video a.mp4 b.mp4 --at 1:00 -o moment.png
Photographs become a panorama:
  panoweave stitch a.jpg b.jpg c.jpg -o panorama.jpg
Cameras that stay in their places need one calibration, which makes a rig:
  panoweave calibrate a.mp4 b.mp4 -o rig.toml
  panoweave video c.mp4 d.mp4 --rig rig.toml -o next.mp4
Help on all commands, and on one:
  panoweave --help
  panoweave video -h";

const AFTER_HELP: &str = "\
Exit codes:
  0  success
  1  a device failed; try again, or use another device
  2  bad options, bad input, or an output that cannot be written
  3  no usable device
  4  the GPU was lost; restart the process
  5  a check failed: a rig has drifted, or a score is below --fail-below; the results are still printed
  130  Ctrl-C, SIGTERM or SIGHUP stopped the command; a video ends early but can be played, unless a second signal came

With --json, an error is also printed to stdout, as a JSON object:
  {\"error\": {\"message\": \"...\", \"kind\": \"input\", \"exit_code\": 2}}

Its kind is one of: usage, input, output, device, no_device, device_lost, interrupted.

The environment variable RUST_LOG selects log messages by module and level, for example RUST_LOG=panoweave=debug.
It overrides -v and -q.";

/// Stitches the pictures of two or more cameras into one panorama, on an NVIDIA GPU or the CPU.
#[derive(Debug, Parser)]
#[command(name = "panoweave", version, after_help = FIRST, after_long_help = AFTER_HELP, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Prints the result or the error to stdout as JSON, for use in scripts.
    #[arg(long, global = true, help_heading = COMMON)]
    json: bool,
    /// Writes more log messages to stderr: -v adds debug messages, -vv adds debug and trace messages.
    #[arg(short, long, global = true, help_heading = COMMON, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Writes fewer log messages to stderr: -q writes only warnings and errors, -qq writes only errors.
    #[arg(short, long, global = true, help_heading = COMMON, action = ArgAction::Count)]
    quiet: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Stitch(stitch::Args),
    Video(video::Args),
    Run(run::Args),
    Warp(warp::Args),
    Calibrate(calibrate::Args),
    Rig(rig::Args),
    Compare(compare::Args),
    Quality(quality::Args),
    Features(features::Args),
    Trajectory(trajectory::Args),
    Info(info::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Parses the command line, runs the subcommand, and returns the program's exit code.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.len() < 2 {
        return report::first_steps(FIRST);
    }
    let matches = command().try_get_matches_from(arguments);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error, asks_for_json()),
    };
    log::start(cli.verbose, cli.quiet);
    if let Err(failure) = interrupt::fail_large_writes() {
        return report::failure(&failure, cli.json);
    }
    if !matches!(cli.command, Command::Video(_) | Command::Run(_))
        && let Err(failure) = Interrupt::end_at_once(cli.json)
    {
        return report::failure(&failure, cli.json);
    }
    let done = match &cli.command {
        Command::Video(args) => video::run(args, cli.json),
        Command::Run(args) => run::run(args, cli.json),
        Command::Stitch(args) => stitch::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Warp(args) => warp::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Calibrate(args) => calibrate::run(args, cli.json),
        Command::Rig(args) => rig::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Compare(args) => compare::run(args, cli.json),
        Command::Quality(args) => quality::run(args, cli.json),
        Command::Features(args) => features::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Trajectory(args) => trajectory::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Info(args) => info::run(args, cli.json).map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => {
            completions::run(args, &mut command(), cli.json).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(args) => man::run(args, command(), cli.json).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(failure) => report::failure(&failure, cli.json),
    }
}

/// Returns the definition of the command line.
fn command() -> clap::Command {
    with_short_texts(Cli::command())
}

/// Lets `-h` of a command and its subcommands show only the examples and the first sentence of each option.
fn with_short_texts(command: clap::Command) -> clap::Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(all) if command.get_after_long_help().is_none() => {
            let examples = all.split("\n\n").next().unwrap_or_default().to_owned();
            command.after_help(examples).after_long_help(all)
        }
        _ => command,
    };
    command.mut_args(with_short_text).mut_subcommands(with_short_texts)
}

/// Splits the help of an option into that of `-h` and of `--help`. An option whose name contains `colour` gets the
/// American spelling as an alias.
fn with_short_text(arg: Arg) -> Arg {
    let arg = match arg.get_help().map(ToString::to_string) {
        Some(all) => {
            let first = all.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
            arg.help(first).long_help(all)
        }
        None => arg,
    };
    match arg.get_long().filter(|name| name.contains("colour")) {
        Some(name) => {
            let american = name.replace("colour", "color");
            arg.alias(american)
        }
        None => arg,
    }
}

/// Returns whether the arguments include `--json`. If clap cannot parse the arguments, `main` uses this to decide
/// whether to print the error as JSON.
fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == OsStr::new("--json"))
}
