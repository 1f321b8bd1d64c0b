//! `cargo xtask test`: every test, the kernels' build and its checks.
//!
//! Building the kernels is part of the tests: launch bounds and barriers are checked there, registers
//! and spills where a `ptxas` can be had. GPU tests are in the same executables and
//! say so when they skip.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Result;
use crate::cargo::{cargo, output, root, target};
use crate::{ffmpeg, ptxas};

/// Fewer tests than this means that some were not found.
const FLOOR: u64 = 500;

pub(crate) fn run() -> Result {
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast"]);
    if let Some(ptxas) = ptxas::provide() {
        tests.env("CUDA_BUILDER_PTXAS", ptxas);
    }
    let ffmpeg = ffmpeg::provide();
    tests.envs(ffmpeg.iter().map(|(name, file)| (name, file)));
    let mut child = tests.stdout(Stdio::piped()).spawn()?;
    let mut total = Counts::default();
    for line in BufReader::new(child.stdout.take().ok_or("cargo has no stdout")?).lines() {
        let line = line?;
        total.add(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    println!("{}", data_line());
    println!("{}", gpu_line());
    println!("{}", ffmpeg_line(&ffmpeg));
    println!("{} passed, {} failed", total.passed, total.failed);
    if !status.success() {
        return Err(format!("cargo test: {status}").into());
    }
    if total.passed < FLOOR {
        return Err(format!("only {} tests ran, expected at least {FLOOR}", total.passed).into());
    }
    Ok(())
}

/// Sums over the lines with which test executables close.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
}

impl Counts {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; …`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let words: Vec<_> = result.split([' ', ';']).collect();
            let at = words.iter().position(|&word| word == what)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += count("passed").unwrap_or(0);
        self.failed += count("failed").unwrap_or(0);
    }
}

/// Whether the tests on outside data ran; they skip, and pass, where it is missing.
fn data_line() -> String {
    let folder = std::env::var_os("PANOWEAVE_DATA")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        "Tests on outside data ran".into()
    } else {
        format!("Tests on outside data skipped: {} is missing", folder.display())
    }
}

/// Whether the tests of video files ran.
fn ffmpeg_line(provided: &[(&str, PathBuf)]) -> String {
    let named = std::env::var_os("PANOWEAVE_FFMPEG").map(PathBuf::from);
    let named = named.or_else(|| provided.first().map(|(_, file)| file.clone()));
    let ffmpeg = named.unwrap_or_else(|| "ffmpeg".into());
    match output(Command::new(&ffmpeg).arg("-version")) {
        Ok(text) => {
            format!("Tests of video files ran with {}", text.lines().next().unwrap_or_default())
        }
        Err(_) => "Tests of video files skipped: no ffmpeg; apt install ffmpeg".into(),
    }
}

/// Whether the GPU tests ran.
fn gpu_line() -> String {
    // The tests of the program have just built it.
    let mut info = Command::new(target().join("debug/panoweave"));
    let names = output(info.args(["info", "--json"])).and_then(|text| {
        let info: serde_json::Value = serde_json::from_str(&text)?;
        let devices = info["devices"].as_array().cloned().unwrap_or_default();
        Ok(devices.iter().map(|d| d["name"].to_string()).collect::<Vec<_>>())
    });
    match names.as_deref() {
        Ok([]) => "GPU tests skipped: no NVIDIA GPU that can be used".into(),
        Ok(names) => format!("GPU tests ran on {}", names.join(", ")),
        Err(e) => format!("GPU tests: unknown, `panoweave info` failed: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn counts_closing_lines() {
        let mut counts = Counts::default();
        counts.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        counts.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured");
        counts.add("running 5 tests");
        assert_eq!((counts.passed, counts.failed), (15, 2));
    }
}
