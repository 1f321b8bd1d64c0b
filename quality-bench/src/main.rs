//! `quality-bench`: stitches made-up scenes by several programs and scores the panoramas against the truth.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use quality_bench::case::Case;
use quality_bench::classes::CLASSES;
use quality_bench::error::Result;
use quality_bench::run::{self, Settings};
use quality_bench::stitchers;

/// Stitches made-up scenes by panoweave, OpenCV and Hugin, and scores the panoramas against the truth.
#[derive(Debug, Parser)]
struct Args {
    /// Folder for pictures, panoramas and reports.
    #[arg(long, default_value = "target/quality-bench")]
    out: PathBuf,
    /// The program panoweave. Default: the file beside this program.
    #[arg(long, value_name = "PATH")]
    panoweave: Option<PathBuf>,
    /// Options added to `panoweave stitch`, separated by spaces.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    panoweave_args: String,
    /// Runs only these classes, separated by commas.
    #[arg(long, value_delimiter = ',')]
    classes: Vec<String>,
    /// Number of seeds per class. Default: that of the class.
    #[arg(long)]
    seeds: Option<u64>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let beside = std::env::current_exe().unwrap_or_default().with_file_name("panoweave");
    let program = args.panoweave.clone().unwrap_or(beside);
    let extra: Vec<String> = args.panoweave_args.split_whitespace().map(str::to_owned).collect();
    let (stitchers, missing) = stitchers::installed(&program, &extra);
    missing.iter().for_each(|line| println!("{line}"));
    let settings = Settings { out: args.out.clone(), limit: Duration::from_secs(120) };
    let data = PathBuf::from("../shared/data");
    for class in CLASSES.iter().filter(|c| args.classes.is_empty() || args.classes.iter().any(|n| n == c.name)) {
        for seed in 0..args.seeds.unwrap_or(class.seeds) {
            let Some(case) = Case::new(class, seed, &data)? else { continue };
            for entry in run::case(&case, &stitchers, &settings)? {
                println!("{}", serde_json::to_string(&entry).unwrap_or_default());
            }
        }
    }
    Ok(())
}
