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
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

/// The heading in `--help` above the options that all subcommands share.
const COMMON: &str = "Common options";

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
#[command(name = "panoweave", version, after_help = AFTER_HELP, arg_required_else_help = false)]
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
    let cli = match Cli::try_parse_from(arguments) {
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
            completions::run(args, &mut Cli::command(), cli.json).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(args) => man::run(args, Cli::command(), cli.json).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(failure) => report::failure(&failure, cli.json),
    }
}

/// Returns whether the arguments include `--json`. If clap cannot parse the arguments, `main` uses this to decide
/// whether to print the error as JSON.
fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == OsStr::new("--json"))
}
