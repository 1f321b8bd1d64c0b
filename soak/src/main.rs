//! Runs the live session for a long time with simulated cameras and a reader. Fails if memory or another resource
//! keeps growing, or if a frame is lost.
//!
//! `cargo xtask soak [--minutes N] [--device auto|cpu|cuda:N]` builds and runs the program. The bundle contains it for
//! machines without Rust. On a GPU, two 3840×2160 cameras make a 5700×1900 panorama in NV12. On the CPU, the pictures
//! and the panorama are 16 times narrower and lower.
//!
//! With `--faults`, random faults happen as well: two cameras stop, send late frames and jump in time, the warp
//! changes, and the process is suspended (`faults`).
//!
//! | file | contents |
//! |---|---|
//! | `run` | session, cameras, reader, and the director that controls them |
//! | `phase` | phases of a cycle |
//! | `scene` | the cameras |
//! | `faults` | random faults |
//! | `sample`, `heap`, `record` | resources held by the process, and the record of a run |
//! | `slope`, `verdict` | measured growth and its limits |
//! | `leak` | deliberate leaks |
//! | `report` | printed output |
//!
//! The exit code is 0 if the run passed, 4 if it exceeded a limit or lost a frame, and another one if the soak could
//! not run.
//!
//! The soak checks neither the pixels of the panoramas, which the tests check, nor the speed, which the benches
//! measure.

mod faults;
mod heap;
mod leak;
mod phase;
mod record;
mod report;
mod run;
mod sample;
mod scene;
mod slope;
mod verdict;

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use panoweave::device::DeviceName;
use serde::Serialize;

use leak::Leak;
use phase::Plan;
use record::Record;
use run::Settings;
use verdict::{Verdict, judge};

/// Runs the live session for a long time. Fails if memory or another resource grows, or if a frame is lost.
#[derive(Parser)]
struct Arguments {
    /// Length of the run in minutes. A longer run detects smaller leaks.
    #[arg(long, default_value_t = 10.0, value_name = "N")]
    minutes: f64,
    /// Length of the run in seconds, instead of --minutes.
    #[arg(long, conflicts_with = "minutes", value_name = "N")]
    seconds: Option<f64>,
    /// Device that stitches: cpu, cuda:N (GPU number N, from 0), or auto (the first GPU, otherwise the CPU).
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Frames per second of each camera, from 1 to 1000 [default: 120 on a GPU, otherwise 30].
    #[arg(long)]
    fps: Option<f64>,
    /// Causes random faults: cameras stop, send late frames and jump in time, the warp changes, and the process is
    /// suspended. Needs at least 24 seconds.
    #[arg(long)]
    faults: bool,
    /// Seed of the faults [default: a number from the clock, which is printed].
    #[arg(long, requires = "faults", value_name = "N")]
    seed: Option<u64>,
    /// JSON file to write, with the verdict and all measurements.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leaks this resource on purpose, to check that the run then fails.
    #[arg(long, value_enum, value_name = "WHAT")]
    plant_leak: Option<Leak>,
}

/// The minimum length of a run with faults. In a shorter run, some kinds of faults would not happen.
const LEAST_WITH_FAULTS: Duration = Duration::from_secs(24);

/// The content of the `--json` file.
#[derive(Serialize)]
struct Document<'a> {
    device: String,
    fps: f64,
    plan: Plan,
    seed: Option<u64>,
    verdict: &'a Verdict,
    record: &'a Record,
}

/// The exit code of a run that was judged and failed. A panic ends with 101, wrong arguments with 2, and a sanitizer's
/// report with 66.
const FAILED: u8 = 4;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match soak(&arguments) {
        Ok(verdict) if verdict.faults.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(FAILED),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn soak(arguments: &Arguments) -> Result<Verdict, Box<dyn std::error::Error>> {
    let seconds = arguments.seconds.unwrap_or(60.0 * arguments.minutes);
    let length = Duration::try_from_secs_f64(seconds)?;
    let device = arguments.device.open()?;
    let (fps, shrink) = if device.cuda_info().is_some() { (120.0, 1) } else { (30.0, 16) };
    let fps = arguments.fps.unwrap_or(fps);
    if !(1.0..=1000.0).contains(&fps) {
        return Err(format!("--fps is {fps}; it must be 1 to 1000").into());
    }
    let plan = Plan::new(length);
    let seed = match arguments.seed {
        _ if !arguments.faults => None,
        Some(seed) => Some(seed),
        None => Some(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()),
    };
    if seed.is_some() && length < LEAST_WITH_FAULTS {
        let least = LEAST_WITH_FAULTS.as_secs();
        return Err(format!("--faults needs a run of at least {least} seconds").into());
    }
    let leak = arguments.plant_leak;
    let settings = Settings { device, plan, fps, shrink, seed, leak };
    report::opening(&settings);
    let mut table = report::Table::default();
    let record = run::run(&settings, |row| table.line(row))?;
    let verdict = judge(&record, plan);
    report::closing(&record, &verdict);
    if let Some(file) = &arguments.json {
        let device = settings.device.to_string();
        let document = Document { device, fps, plan, seed, verdict: &verdict, record: &record };
        serde_json::to_writer_pretty(File::create(file)?, &document)?;
    }
    Ok(verdict)
}
