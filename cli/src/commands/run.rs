//! `panoweave run`: does the job in a file.

use std::path::PathBuf;
use std::process::ExitCode;

use panoweave::job::Job;

use crate::commands::stitch;
use crate::commands::video::{self, FinishLimit};
use crate::output::failure::Failure;
use crate::output::interrupt::Interrupt;

const AFTER_HELP: &str = "\
Examples:
  panoweave video l.mp4 r.mp4 --rig rig.toml -o pano.mp4 --print-job > job.toml
  panoweave run job.toml

Paths in the file are relative to the working folder. The names of its values are those of the options of the command
that prints it, such as `panoweave video`.
See panoweave --help for exit codes and errors as JSON.";

/// Does the job in a file, which --print-job of other commands prints.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Job file (TOML).
    #[arg(value_name = "JOB.toml")]
    file: PathBuf,
    #[command(flatten)]
    limit: FinishLimit,
}

/// Runs `panoweave run`. Returns the exit code of the command that does the same.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<ExitCode, Failure> {
    match Job::open(&args.file)? {
        Job::Video(job) => video::stitch(&job, args.limit, as_json),
        Job::Stitch(job) => {
            Interrupt::end_at_once(as_json)?;
            stitch::stitch(&job, as_json).map(|()| ExitCode::SUCCESS)
        }
    }
}
