//! Runs the live stitcher for long, as cameras, readers and operators would, and fails if anything grows.
//!
//! `soak [--minutes N] [--device auto|cpu|cuda:N]`; `cargo xtask soak` builds and runs it, and the bundle
//! has it for machines without Rust. On a GPU two 3840×2160 cameras make 5700×1900 in NV12, on the CPU
//! the same rig is 16 times smaller.
//!
//! | file | what |
//! |---|---|
//! | `run` | stitcher, cameras, reader, and who leads them |
//! | `phase` | what happens in each minute |
//! | `scene` | the cameras |
//! | `sample`, `heap`, `record` | what the process holds, and all else that is kept of a run |
//! | `slope`, `verdict` | what may grow, and whether it did |
//! | `leak` | leaks planted to see them found |
//! | `report` | what is printed |
//!
//! Not here: whether panoramas are right, which the tests say, and how fast they are, the benches.

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
use std::time::Duration;

use clap::Parser;
use panoweave::device::DeviceName;
use serde::Serialize;

use leak::Leak;
use phase::Plan;
use record::Record;
use run::Settings;
use verdict::{Verdict, judge};

/// Runs the live stitcher for long and fails if anything grows.
#[derive(Parser)]
struct Arguments {
    /// How long.
    #[arg(long, default_value_t = 10.0, value_name = "N")]
    minutes: f64,
    /// How long, for a short run.
    #[arg(long, conflicts_with = "minutes", value_name = "N")]
    seconds: Option<f64>,
    /// Where: auto, cpu or cuda:N.
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    /// Frames a second of each camera; 120 on a GPU and 30 on the CPU, unless given.
    #[arg(long)]
    fps: Option<f64>,
    /// Most that 99 of 100 panoramas may take, in milliseconds.
    #[arg(long, value_name = "MS")]
    p99: Option<f64>,
    /// Writes all that was measured.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leaks something, which must be found.
    #[arg(long, value_enum, value_name = "WHAT")]
    plant_leak: Option<Leak>,
}

/// What `--json` writes.
#[derive(Serialize)]
struct Document<'a> {
    device: String,
    fps: f64,
    plan: Plan,
    verdict: &'a Verdict,
    record: &'a Record,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match soak(&arguments) {
        Ok(verdict) if verdict.faults.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
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
        return Err("frames a second are from 1 to 1000".into());
    }
    let plan = Plan::new(length);
    let leak = arguments.plant_leak;
    let settings = Settings { device, plan, fps, shrink, leak };
    report::opening(&settings);
    let mut table = report::Table::default();
    let record = run::run(&settings, |row| table.line(row))?;
    let verdict = judge(&record, plan, arguments.p99.map(|ms| ms / 1e3));
    report::closing(&record, &verdict);
    if let Some(file) = &arguments.json {
        let device = settings.device.to_string();
        let document = Document { device, fps, plan, verdict: &verdict, record: &record };
        serde_json::to_writer_pretty(File::create(file)?, &document)?;
    }
    Ok(verdict)
}
