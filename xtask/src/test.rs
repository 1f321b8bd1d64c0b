//! `cargo xtask test`: runs every test of panoweave and of the kernel kit, builds the kernels and checks them.
//!
//! Building the kernels is part of the tests. `cuda_builder` checks launch bounds and barriers. If `ptxas` is
//! available, it also checks register counts and spills. A test that needs a GPU, external data or ffmpeg skips its
//! work if this requirement is missing, and without GStreamer the plugin's tests are left out. The output ends with a
//! list of the skips. With `PANOWEAVE_REQUIRE=gpu,data,ffmpeg,gstreamer`, such a test fails instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::process::{Command, ExitStatus, Stdio};

use crate::Result;
use crate::cargo::{cargo, kit, target};
use crate::{ffmpeg, gstreamer, ptxas};

/// The least number of tests that a run must have without those of the GStreamer plugin. A run of fewer fails, because
/// cargo did not find some of them.
const LEAST: u64 = 1400;

/// Runs all tests.
pub(crate) fn run() -> Result {
    let skipped = target().join("skipped.txt");
    match fs::remove_file(&skipped) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let arguments = ["test", "--workspace", "--no-fail-fast"];
    let (mut panoweave, kit) = (cargo(&arguments), kit(&arguments));
    match gstreamer::provide() {
        Ok(variables) => {
            panoweave.envs(variables);
        }
        Err(error) => {
            let required = std::env::var("PANOWEAVE_REQUIRE").unwrap_or_default();
            if required.split(',').any(|need| need.trim() == "gstreamer") {
                return Err(error);
            }
            panoweave.args(gstreamer::PLUGIN.iter().flat_map(|package| ["--exclude", package]));
            fs::write(&skipped, format!("gstreamer\tall of gst/\t{error}\n"))?;
        }
    }
    let ptxas = ptxas::provide();
    panoweave.envs(ffmpeg::provide());
    let (mut total, mut failed) = (Counts::default(), Vec::new());
    for (name, mut tests) in [("the kernel kit", kit), ("panoweave", panoweave)] {
        // The data of incremental compilation would take 2 GB. To run one test after a change, use `cargo test`.
        tests.env("CARGO_INCREMENTAL", "0").env("PANOWEAVE_SKIPPED", &skipped);
        tests.envs(ptxas.iter().map(|file| ("CUDA_BUILDER_PTXAS", file)));
        let status = total.add_all(&mut tests)?;
        if !status.success() {
            failed.push(format!("cargo test of {name}: {status}"));
        }
    }
    print!("{}", list(&fs::read_to_string(&skipped).unwrap_or_default()));
    println!("{} passed, {} failed", total.passed, total.failed);
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    if total.passed < LEAST {
        return Err(format!("{} tests ran; there must be at least {LEAST}", total.passed).into());
    }
    Ok(())
}

/// Lists the skipped tests, grouped by the missing item (such as `gpu`) and by the reason for the skip.
/// Each line of `skipped` contains the missing item, the test and the reason, separated by tabs.
fn list(skipped: &str) -> String {
    let mut by_reason: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for line in skipped.lines() {
        if let [need, test, reason] = line.splitn(3, '\t').collect::<Vec<_>>()[..] {
            by_reason.entry((need, reason)).or_default().insert(test);
        }
    }
    let mut text = String::new();
    for ((need, reason), tests) in by_reason {
        text += &format!("skipped, {need}, {} tests: {reason}\n", tests.len());
        for test in tests {
            text += &format!("    {test}\n");
        }
    }
    if text.is_empty() { "no test was skipped\n".to_owned() } else { text }
}

/// The numbers of passed and failed tests, added up over all test executables.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// Runs `cargo test`, prints its output and adds the numbers of its tests.
    pub(crate) fn add_all(&mut self, tests: &mut Command) -> Result<ExitStatus> {
        // Both streams share a pipe, so that their lines stay in order.
        let (output, input) = io::pipe()?;
        tests.stdout(input.try_clone()?).stderr(input);
        let child = tests.spawn();
        let mut child = child.map_err(|error| format!("cannot run {tests:?}: {error}"))?;
        // Otherwise the command would keep the pipe open.
        tests.stdout(Stdio::null()).stderr(Stdio::null());
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            self.add(&line);
            println!("{line}");
        }
        Ok(child.wait()?)
    }

    /// Adds the numbers in an output line such as `test result: ok. 3 passed; 0 failed; …`. Ignores other lines.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        let words: Vec<_> = result.split([' ', ';']).collect();
        let count = |what: &str| {
            let at = words.iter().position(|&word| word == what)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += count("passed").unwrap_or(0);
        self.failed += count("failed").unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, list};

    #[test]
    fn skips_are_listed_by_reason() {
        let text = list("gpu\ta::b\tno driver\ndata\tc\tmissing\ngpu\ta::b\tno driver\n");
        let expected = "skipped, data, 1 tests: missing\n    c\n\
                        skipped, gpu, 1 tests: no driver\n    a::b\n";
        assert_eq!(text, expected);
        assert_eq!(list(""), "no test was skipped\n");
    }

    #[test]
    fn counts_closing_lines() {
        let mut counts = Counts::default();
        counts.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 2.41s",
        );
        counts.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured");
        counts.add("running 5 tests");
        assert_eq!((counts.passed, counts.failed), (15, 2));
    }
}
