//! `cargo xtask bench`: runs every bench on the local GPU and writes a page and the tables from the records.
//!
//! With `--from` it runs nothing and reports records that the bundle wrote on another machine. `panoweave-benches`
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
    // Benches append to the record; without a GPU they do not create it.
    fs::write(&record, "")?;
    let mut benches =
        cargo(&["bench", "--package", "panoweave-benches", "--benches", "--no-fail-fast"]);
    benches.env("PANOWEAVE_BENCH_RECORD", &record).env("PANOWEAVE_COMMIT", commit());
    if std::env::var_os("PANOWEAVE_REFERENCE_PTX").is_none() {
        let ptx = folder.join("ptx");
        // The script reports a missing compiler, and the benches then skip the reference kernels.
        if cargo::run(Command::new(root().join("benches/cuda/compile.sh")).arg(&ptx)).is_ok() {
            benches.env("PANOWEAVE_REFERENCE_PTX", ptx);
        }
    }
    let ran = cargo::run(&mut benches);
    // Report the measurements even if a bench failed. A record of the CPU alone must not replace the GPU's tables.
    let of_gpu = |section: &Section| section.runs.iter().any(|run| run.threads.is_none());
    if !Report::read(&[&record])?.sections().iter().any(of_gpu) {
        let record = record.display();
        return Err(format!(
            "no GPU was measured, so BENCHMARKS.md is unchanged; the CPU's figures are in {record}: pass it to `cargo \
             xtask bench --from` together with a GPU's record"
        )
        .into());
    }
    report(&[record])?;
    ran
}

/// Writes the page to `target/bench/` and the table to `BENCHMARKS.md`.
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
