//! `cargo xtask test`: runs every test, builds the kernels and checks them.
//!
//! Building the kernels is part of the tests. `cuda_builder` checks launch bounds and barriers. If `ptxas` is
//! available, it also checks register counts and spills. A test that needs a GPU, external data or ffmpeg skips its
//! work if this requirement is missing, and without GStreamer the plugin's tests are left out. The output ends with a
//! list of the skips. With `PANOWEAVE_REQUIRE=gpu,data,ffmpeg,gstreamer`, such a test fails instead.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::process::{Command, ExitStatus, Stdio};
use std::{fs, mem};

use crate::Result;
use crate::cargo::{cargo, root, target};
use crate::{ffmpeg, gstreamer, ptxas};

/// The least number of tests that a run must have without those of the GStreamer plugin. A run of fewer fails, because
/// cargo did not find some of them.
const LEAST: u64 = 2000;

/// Runs all tests. Writes the times of the executables to `tests/README.md` if `replace_table` is set.
pub(crate) fn run(replace_table: bool) -> Result {
    let skipped = target().join("skipped.txt");
    match fs::remove_file(&skipped) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast"]);
    // The data of incremental compilation would take 2 GB. To run one test after a change, use `cargo test`.
    tests.env("CARGO_INCREMENTAL", "0");
    match gstreamer::provide() {
        Ok(variables) => {
            tests.envs(variables);
        }
        Err(error) => {
            let required = std::env::var("PANOWEAVE_REQUIRE").unwrap_or_default();
            if required.split(',').any(|need| need.trim() == "gstreamer") {
                return Err(error);
            }
            tests.args(gstreamer::PLUGIN.iter().flat_map(|package| ["--exclude", package]));
            fs::write(&skipped, format!("gstreamer\tall of gst/\t{error}\n"))?;
        }
    }
    tests.env("PANOWEAVE_SKIPPED", &skipped);
    if let Some(ptxas) = ptxas::provide() {
        tests.env("CUDA_BUILDER_PTXAS", ptxas);
    }
    let ffmpeg = ffmpeg::provide();
    tests.envs(ffmpeg.iter().map(|(name, file)| (name, file)));
    let (status, total) = Counts::of(&mut tests)?;
    print!("{}", list(&fs::read_to_string(&skipped).unwrap_or_default()));
    let table = total.table();
    if replace_table {
        let page = root().join("tests/README.md");
        let text = fs::read_to_string(&page)?;
        let (before, rest) = text.split_once(BEGIN).ok_or(BEGIN)?;
        let (_, after) = rest.split_once(END).ok_or(END)?;
        fs::write(page, format!("{before}{BEGIN}\n{table}{END}{after}"))?;
    }
    println!("{table}{} passed, {} failed", total.passed, total.failed);
    if !status.success() {
        return Err(format!("cargo test: {status}").into());
    }
    if total.passed < LEAST {
        return Err(format!("{} tests ran; there must be at least {LEAST}", total.passed).into());
    }
    Ok(())
}

/// The lines around the table of times in `tests/README.md`.
const BEGIN: &str = "<!-- the times of `cargo xtask test --table` -->";
const END: &str = "<!-- end -->";

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
    /// The executable that runs.
    running: String,
    /// The executables with their numbers of tests and their seconds.
    executables: Vec<(String, u64, f64)>,
}

impl Counts {
    /// Runs `cargo test`, prints its output and counts the tests.
    pub(crate) fn of(tests: &mut Command) -> Result<(ExitStatus, Self)> {
        // Both streams share a pipe, so that the name of an executable comes before its results.
        let (output, input) = io::pipe()?;
        tests.stdout(input.try_clone()?).stderr(input);
        let child = tests.spawn();
        let mut child = child.map_err(|error| format!("cannot run {tests:?}: {error}"))?;
        // Otherwise the command would keep the pipe open.
        tests.stdout(Stdio::null()).stderr(Stdio::null());
        let mut total = Self::default();
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            total.add(&line);
            println!("{line}");
        }
        Ok((child.wait()?, total))
    }

    /// Adds the numbers in an output line such as `test result: ok. 3 passed; 0 failed; …`, and notes the names of
    /// executables. Ignores other lines.
    fn add(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(name) = line.strip_prefix("Running ").or(line.strip_prefix("Doc-tests ")) {
            // Such as `unittests src/lib.rs (target/debug/deps/panoweave-0123456789abcdef)`.
            let file = name.rsplit_once('(').map_or(name, |(_, file)| file.trim_end_matches(')'));
            let file = file.rsplit('/').next().unwrap_or(file);
            let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
            let kind = if line.starts_with("Doc") { " (examples in documents)" } else { "" };
            self.running = format!("{name}{kind}");
            return;
        }
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let words: Vec<_> = result.split([' ', ';']).collect();
        let count = |what: &str| {
            let at = words.iter().position(|&word| word == what)?;
            words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
        };
        let passed = count("passed").unwrap_or(0);
        self.passed += passed;
        self.failed += count("failed").unwrap_or(0);
        let seconds = words.last().and_then(|word| word.strip_suffix('s')?.parse().ok());
        let name = mem::take(&mut self.running);
        self.executables.push((name, passed, seconds.unwrap_or(0.0)));
    }

    /// Returns a table in Markdown of the executables that took the longest.
    fn table(&self) -> String {
        let mut rows = self.executables.clone();
        rows.sort_by(|a, b| b.2.total_cmp(&a.2));
        let mut table = "| tests | number | seconds |\n|---|---|---|\n".to_owned();
        let (shown, others) = rows.split_at(rows.len().min(12));
        for (name, number, seconds) in shown {
            table += &format!("| `{name}` | {number} | {seconds:.0} |\n");
        }
        let (number, seconds) =
            others.iter().fold((0, 0.0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
        table + &format!("| {} others | {number} | {seconds:.0} |\n", others.len())
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
        counts
            .add("     Running tests/systems/main.rs (target/debug/deps/systems-0123456789abcdef)");
        counts.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 2.41s",
        );
        counts.add("   Doc-tests cust");
        counts.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured");
        counts.add("running 5 tests");
        assert_eq!((counts.passed, counts.failed), (15, 2));
        assert!(
            counts
                .table()
                .contains("| `systems` | 12 | 2 |\n| `cust (examples in documents)` | 3 | 0 |")
        );
    }
}
