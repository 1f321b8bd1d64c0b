//! `cargo xtask bench`: runs every bench on the local GPU, and writes an HTML page and the tables in `BENCHMARKS.md`.
//!
//! With `--from` it runs no bench and reports the records that a bundle wrote on another machine. `panoweave-benches`
//! measures, `panoweave-bench-report` writes the report.

use std::fs;
use std::path::Path;
use std::process::Command;

use panoweave_bench_report::Report;
use panoweave_bench_report::figures::Section;

use crate::Result;
use crate::cargo::{self, cargo, output, root, target};

/// Runs the benches and reports their records.
pub(crate) fn run() -> Result {
    let folder = std::path::absolute(target())?.join("bench");
    let record = folder.join("record.jsonl");
    fs::create_dir_all(&folder)?;
    // Benches append to the record, so it must be empty at the start. It must exist even if no bench writes to it.
    fs::write(&record, "")?;
    let mut benches =
        cargo(&["bench", "--package", "panoweave-benches", "--benches", "--no-fail-fast"]);
    benches.env("PANOWEAVE_BENCH_RECORD", &record).env("PANOWEAVE_COMMIT", commit());
    if std::env::var_os("PANOWEAVE_REFERENCE_PTX").is_none() {
        let ptx = folder.join("ptx");
        // If there is no CUDA compiler, the script reports that, and the benches skip the reference kernels.
        if cargo::run(Command::new(root().join("benches/cuda/compile.sh")).arg(&ptx)).is_ok() {
            benches.env("PANOWEAVE_REFERENCE_PTX", ptx);
        }
    }
    let ran = cargo::run(&mut benches);
    // Report the measurements even if a bench failed. A record without GPU measurements must not replace the tables in
    // `BENCHMARKS.md`.
    let of_gpu = |section: &Section| section.runs.iter().any(|run| run.threads.is_none());
    if !Report::read(&[&record])?.sections().iter().any(of_gpu) {
        let record = record.display();
        return Err(format!(
            "no GPU was measured, so BENCHMARKS.md is unchanged; the CPU's measurements are in {record}; pass that \
             file to `cargo xtask bench --from` together with a GPU's record"
        )
        .into());
    }
    report(&[record])?;
    ran
}

/// Writes the page to `target/bench/` and the tables to `BENCHMARKS.md`.
pub(crate) fn report<P: AsRef<Path>>(records: &[P]) -> Result {
    let report = Report::read(records)?;
    for file in report.write(&target().join("bench"), &root().join("BENCHMARKS.md"))? {
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// Returns the current commit, with `+` if tracked files were changed; empty if git fails.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root()).args(arguments));
    let Ok(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let mark = if changed.is_ok_and(|files| !files.trim().is_empty()) { "+" } else { "" };
    format!("{}{mark}", commit.trim())
}
