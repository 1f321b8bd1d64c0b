//! `cargo xtask bench`: runs every bench on the GPU that is here, and makes a page and the table of what they record.
//!
//! With `--from` it runs nothing and takes records that the bundle brought from another machine. Measuring is the
//! work of `panoweave-benches`, reporting of `panoweave-bench-report`.

use std::fs;
use std::path::Path;
use std::process::Command;

use panoweave_bench_report::Report;
use panoweave_bench_report::figures::Section;

use crate::Result;
use crate::cargo::{self, cargo, output, root, target};

/// Runs the benches, then reports what they recorded.
pub(crate) fn run() -> Result {
    let folder = std::path::absolute(target())?.join("bench");
    let record = folder.join("record.jsonl");
    fs::create_dir_all(&folder)?;
    // Benches append, and without a GPU they leave no file.
    fs::write(&record, "")?;
    let mut benches =
        cargo(&["bench", "--package", "panoweave-benches", "--benches", "--no-fail-fast"]);
    benches.env("PANOWEAVE_BENCH_RECORD", &record).env("PANOWEAVE_COMMIT", commit());
    if std::env::var_os("PANOWEAVE_REFERENCE_PTX").is_none() {
        let ptx = folder.join("ptx");
        // Without a compiler it says so, and the benches compare with nothing.
        if cargo::run(Command::new(root().join("benches/cuda/compile.sh")).arg(&ptx)).is_ok() {
            benches.env("PANOWEAVE_REFERENCE_PTX", ptx);
        }
    }
    let ran = cargo::run(&mut benches);
    // What was measured is worth a report even where a bench failed; the processor alone is not worth the GPU's tables.
    let of_gpu = |section: &Section| section.runs.iter().any(|run| run.threads.is_none());
    if !Report::read(&[&record])?.sections().iter().any(of_gpu) {
        let record = record.display();
        return Err(format!(
            "no GPU was measured, so BENCHMARKS.md stays; the processor's figures are in {record}, which `cargo xtask \
             bench --from` takes beside the record of a GPU"
        )
        .into());
    }
    report(&[record])?;
    ran
}

/// Reports records: the page goes to `target/bench/`, the table into `BENCHMARKS.md`.
pub(crate) fn report<P: AsRef<Path>>(records: &[P]) -> Result {
    let report = Report::read(records)?;
    for file in report.write(&target().join("bench"), &root().join("BENCHMARKS.md"))? {
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// The commit that is checked out, with `+` if files of it were changed; empty where git does not know.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root()).args(arguments));
    let Ok(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let mark = if changed.is_ok_and(|files| !files.trim().is_empty()) { "+" } else { "" };
    format!("{}{mark}", commit.trim())
}
