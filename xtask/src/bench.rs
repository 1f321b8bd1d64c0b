//! `cargo xtask bench`: runs every bench on the local GPU, and writes a report to `target/bench`.
//!
//! With `--from`, the command runs no bench. Instead, it reports the records that a bundle wrote on another machine.
//! The crate `panoweave-benches` contains the benches, and the crate `panoweave-bench-report` writes the tables.

use std::fs;
use std::path::Path;
use std::process::Command;

use panoweave_bench_report as report;

use crate::Result;
use crate::cargo::{self, cargo, output, root, target};

/// Runs the benches and reports their measurements, even if a bench fails.
pub(crate) fn run() -> Result {
    let folder = std::path::absolute(target())?.join("bench");
    let record = folder.join("record.jsonl");
    fs::create_dir_all(&folder)?;
    // Benches append to the record.
    fs::write(&record, "")?;
    let mut benches =
        cargo(&["bench", "--package", "panoweave-benches", "--benches", "--no-fail-fast"]);
    benches.env("PANOWEAVE_BENCH_RECORD", &record).env("PANOWEAVE_COMMIT", commit());
    if std::env::var_os("PANOWEAVE_REFERENCE_PTX").is_none() {
        let ptx = folder.join("ptx");
        // The script compiles the CUDA C++ kernels with which the benches compare. Without a CUDA compiler, the script
        // fails, and the benches skip these kernels.
        if cargo::run(Command::new(root().join("benches/cuda/compile.sh")).arg(&ptx)).is_ok() {
            benches.env("PANOWEAVE_REFERENCE_PTX", ptx);
        }
    }
    let ran = cargo::run(&mut benches);
    report(&[record])?;
    ran
}

/// Reports the measurements in the files `records` in `target/bench`.
pub(crate) fn report<P: AsRef<Path>>(records: &[P]) -> Result {
    let sections = report::read(records)?;
    for file in report::write(&sections, &target().join("bench"))? {
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// Returns the hash of the current commit in 12 digits, with `+` appended if tracked files were changed. Returns an
/// empty string if git fails.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root()).args(arguments));
    let Ok(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let mark = if changed.is_ok_and(|files| !files.trim().is_empty()) { "+" } else { "" };
    format!("{}{mark}", commit.trim())
}
