//! `panoweave-bench-report RECORD... --out FOLDER --table FILE`: turns bench records into an HTML page, a JSON file and
//! Markdown tables. The bundle for machines without Rust contains this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use panoweave_bench_report::Report;

const USAGE: &str = "\
usage: panoweave-bench-report RECORD... --out FOLDER --table FILE

Writes bench results as JSON, an HTML page and Markdown tables.

  RECORD        a file to which benches appended their results: PANOWEAVE_BENCH_RECORD named it while they ran
  --out FOLDER  folder for report.json and index.html; created if it does not exist
  --table FILE  existing text file such as BENCHMARKS.md; the tables replace the lines between its two marker lines";

/// The arguments of the command line.
struct Arguments {
    records: Vec<PathBuf>,
    out: PathBuf,
    table: PathBuf,
}

fn arguments(mut given: impl Iterator<Item = OsString>) -> Option<Arguments> {
    let (mut records, mut out, mut table) = (Vec::new(), None, None);
    while let Some(argument) = given.next() {
        match argument.to_str() {
            Some("--out") => out = Some(given.next()?.into()),
            Some("--table") => table = Some(given.next()?.into()),
            Some(option) if option.starts_with('-') => return None,
            _ => records.push(argument.into()),
        }
    }
    (!records.is_empty()).then_some(Arguments { records, out: out?, table: table? })
}

fn main() -> ExitCode {
    let Some(Arguments { records, out, table }) = arguments(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let report = Report::read(&records).and_then(|report| report.write(&out, &table));
    match report {
        Ok(written) => {
            written.iter().for_each(|file: &PathBuf| println!("wrote {}", Path::display(file)));
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
