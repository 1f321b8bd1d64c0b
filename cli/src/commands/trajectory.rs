//! `panoweave trajectory`: resamples camera paths, or other values over time, at given times.

use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use panoweave::device::DeviceName;
use panoweave::frame::Rate;
use panoweave::io::text::read_text_from;
use panoweave::io::video::STANDARD;
use panoweave::job::files::{check_output, input_file};
use panoweave::ops::trajectory::{
    FILE_LIMIT, Trajectory, TrajectoryError, open_times, parse_times,
};
use serde_json::json;

use crate::output;
use crate::output::failure::Failure;
use crate::output::stages::Stages;

const AFTER_HELP: &str = "\
Examples:
  panoweave trajectory resample path.csv --fps 30000/1001 -o frames.csv
  panoweave trajectory resample groundtruth.txt --times rgb.txt -o - | head

A trajectory file has a time in seconds and values in each line. It is CSV, with or without a header, or its fields are
separated by spaces, like those of TUM files. The output is CSV.

Values are interpolated linearly between two times, and are constant before the first and after the last time. If several
lines have the same time, values approach the first one and continue from the last one. Between times less than a
microsecond apart, values are not interpolated.
Columns are interpolated independently: an interpolated quaternion is shorter than 1, so normalise it.
See panoweave --help for exit codes and errors as JSON.";

/// Processes files with values over time, such as camera paths.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Resample(Resample),
}

/// Resamples a trajectory at other times: at the frame times of a video with a given rate, or at the times in a file.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct Resample {
    /// Trajectory file to read, in CSV or TUM format, or - for standard input.
    input: PathBuf,
    #[command(flatten)]
    targets: Targets,
    /// CSV file to write, or - for standard output.
    #[arg(short, long, value_name = "OUT.csv")]
    output: PathBuf,
    /// Device that computes: cpu, cuda:N (GPU number N, from 0), auto (the first GPU, otherwise the CPU), or simulator
    /// (the CPU, with the checks for authors of kernels).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Maximum number of numbers in the output, which has rows × (1 + columns) of them. A number takes up to 25 bytes
    /// of the file.
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    max_numbers: u64,
}

/// The options that select the output times.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Targets {
    /// Number of output times per second, such as 30 or 30000/1001, from the first to the last time of the trajectory.
    /// 29.97, 59.94 and similar numbers mean exact fractions such as 30000/1001.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    fps: Option<Rate>,
    /// File with the output times in its first column, in seconds and in any order, or - for standard input.
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
}

/// Runs the subcommand of `panoweave trajectory`.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    match &args.action {
        Action::Resample(args) => args.run(as_json),
    }
}

impl Resample {
    fn run(&self, as_json: bool) -> Result<(), Failure> {
        let to_stdout = self.output == Path::new(STANDARD);
        if to_stdout && as_json {
            return Err(Failure::usage(
                "--json and --output - both write to standard output; choose one",
            ));
        }
        if self.input == Path::new(STANDARD) && self.targets.times.as_ref() == Some(&self.input) {
            return Err(Failure::usage(
                "the trajectory and --times cannot both be read from standard input",
            ));
        }
        if !to_stdout {
            let inputs: Vec<&Path> = [&self.input]
                .into_iter()
                .chain(&self.targets.times)
                .map(|path| input_file(path))
                .collect();
            check_output(&self.output, &inputs)?;
        }
        let mut stages = Stages::new()?;
        let (trajectory, times) = stages.run("load", "reading", || {
            let trajectory = opened(
                &self.input,
                |file| Trajectory::open(file),
                |text, name| Trajectory::parse(text, name),
            )?;
            let times = self.targets.of(&trajectory)?;
            Ok((trajectory, times))
        })?;
        let (rows, columns) = (times.len() as u64, 1 + trajectory.columns().len() as u64);
        let (numbers, limit) = (rows.saturating_mul(columns), self.max_numbers);
        if numbers > limit {
            return Err(Failure::usage(format!(
                "the output would have {rows} rows of {columns} numbers, which are {numbers}, but --max-numbers is {limit}; lower --fps, or raise --max-numbers"
            )));
        }
        let device = self.device.open()?;
        let stream = device.stream()?;
        stages.run("resample", "resampling", || {
            if !to_stdout {
                return Ok(trajectory.save_resampled(&stream, &times, &self.output)?);
            }
            let mut done = Ok(());
            output::print_with(|out| {
                match trajectory.write_resampled(&stream, &times, out) {
                    Err(TrajectoryError::Output(error)) => return Err(error),
                    result => done = result,
                }
                Ok(())
            })?;
            Ok(done?)
        })?;
        let clamped = trajectory.clamped(&times);
        if as_json {
            return output::print_json(&json!({
                "input": self.input.to_string_lossy(),
                "output": self.output.to_string_lossy(),
                "device": device.to_string(),
                "columns": trajectory.columns(),
                "rows": { "read": trajectory.times().len(), "written": rows },
                "clamped": clamped,
                "rate": self.targets.fps.map(|rate| rate.to_string()),
                "times_ms": stages.json(),
            }));
        }
        let line = format!(
            "{}: {} rows of {} values from {} input rows, {clamped} before the first or after the last time, on {device}",
            self.output.display(),
            rows,
            trajectory.columns().len(),
            trajectory.times().len(),
        );
        if to_stdout {
            tracing::info!("{line}");
            return Ok(());
        }
        output::print(&format!("{line}\n"))
    }
}

impl Targets {
    /// Returns the times in seconds at which `trajectory` is resampled, from `--fps` or from the file of `--times`.
    fn of(&self, trajectory: &Trajectory) -> Result<Vec<f64>, Failure> {
        match (self.fps, &self.times) {
            (Some(rate), _) => Ok(trajectory.frame_times(rate)?),
            (None, Some(file)) => {
                Ok(opened(file, |file| open_times(file), |text, name| parse_times(text, name))?)
            }
            (None, None) => Err(Failure::usage("there are no output times; give --fps or --times")),
        }
    }
}

/// Reads and parses `file` with `open`. If `file` is `-`, reads standard input and parses its text with `parse`.
fn opened<T>(
    file: &Path,
    open: impl FnOnce(&Path) -> Result<T, TrajectoryError>,
    parse: impl FnOnce(&str, &Path) -> Result<T, TrajectoryError>,
) -> Result<T, TrajectoryError> {
    if file != Path::new(STANDARD) {
        return open(file);
    }
    let name = Path::new("standard input");
    parse(&read_text_from(io::stdin().lock(), name, FILE_LIMIT)?, name)
}
