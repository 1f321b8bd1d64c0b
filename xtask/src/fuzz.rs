//! `cargo xtask fuzz`: runs the fuzz targets in `fuzz/` and `gst/fuzz/`, and prints a table of their executions.
//!
//! `cargo fuzz` builds the targets with the pinned toolchain. New inputs go to `target/fuzz/corpus/`. A failure stops
//! its target, and the table names the input. The repository has at most 20 small seeds per target: the inputs that
//! failed once (`found-*`), and others that a run starts from.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::cargo::{self, cargo, root, target};
use crate::{Result, gstreamer};

/// The version of cargo-fuzz that is installed if there is none.
const VERSION: &str = "0.13.2";

/// The limits of libFuzzer: 10 seconds for an input that waits, and 1 GiB for the whole fuzzer. The targets check
/// tighter limits per input.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=1024"];

/// The folders of the packages with targets. The second one needs GStreamer.
const PACKAGES: [&str; 2] = ["fuzz", "gst/fuzz"];

/// The arguments of the command.
struct Arguments {
    /// The total time in minutes.
    minutes: f64,
    /// Whether AddressSanitizer checks the accesses to memory.
    sanitizes: bool,
    /// The names of the targets; all targets if it is empty.
    names: Vec<String>,
}

/// A target, and where it is.
struct Target {
    name: String,
    /// One of [`PACKAGES`].
    package: &'static str,
}

/// The targets' programs and their environment.
struct Programs {
    folder: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    sanitizes: bool,
}

pub(crate) fn run(arguments: &[&str]) -> Result {
    let arguments = parse(arguments)?;
    let targets = targets(&arguments.names)?;
    let programs = Programs::build(&targets, arguments.sanitizes)?;
    let jobs = thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let seconds = (arguments.minutes * 60.0 * jobs as f64 / targets.len() as f64).ceil().max(1.0);
    let waiting = Mutex::new(targets.iter().enumerate().collect::<VecDeque<_>>());
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some((i, target)) = next() {
                    let row = programs.fuzz(target, seconds).map_err(|error| error.to_string());
                    rows.lock().unwrap_or_else(PoisonError::into_inner).push((i, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(i, _)| *i);
    println!("| target | executions | per second | slowest input | memory | result |");
    println!("|---|---|---|---|---|---|");
    let mut failed = Vec::new();
    for (i, row) in rows {
        let name = &*targets[i].name;
        // The rows of the other targets are worth printing if one of them could not run.
        let (line, passed) =
            row.unwrap_or_else(|error| (format!("| `{name}` | ? | ? | ? | ? | {error} |"), false));
        println!("{line}");
        failed.extend((!passed).then_some(name));
    }
    if !failed.is_empty() {
        let logs = work().display().to_string();
        return Err(format!("{} failed; the logs are in {logs}", failed.join(", ")).into());
    }
    Ok(())
}

fn parse(arguments: &[&str]) -> Result<Arguments> {
    let mut parsed = Arguments { minutes: 10.0, sanitizes: false, names: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--minutes" => {
                let minutes = rest.next().and_then(|text| text.parse().ok());
                parsed.minutes = minutes
                    .filter(|minutes| (0.0..=1e6).contains(minutes))
                    .ok_or("--minutes needs a number, such as `--minutes 10`")?;
            }
            "--address" => parsed.sanitizes = true,
            name if !name.starts_with('-') => parsed.names.push(name.to_owned()),
            _ => return Err(format!("unknown option `{argument}`").into()),
        }
    }
    Ok(parsed)
}

/// Returns the targets called `names`, or all targets if `names` is empty.
fn targets(names: &[String]) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for package in PACKAGES {
        for entry in fs::read_dir(root().join(package).join("fuzz_targets"))? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
            targets.extend(name.map(|name| Target { name, package }));
        }
    }
    targets.sort_by(|a, b| (a.package, &a.name).cmp(&(b.package, &b.name)));
    if let Some(unknown) = names.iter().find(|name| targets.iter().all(|t| &t.name != *name)) {
        let all: Vec<_> = targets.iter().map(|target| &*target.name).collect();
        return Err(format!("unknown target `{unknown}`; targets: {}", all.join(", ")).into());
    }
    targets.retain(|target| names.is_empty() || names.contains(&target.name));
    Ok(targets)
}

/// Returns the folder of new inputs, failures and logs.
fn work() -> PathBuf {
    target().join("fuzz")
}

impl Programs {
    /// Builds the packages of `targets`.
    fn build(targets: &[Target], sanitizes: bool) -> Result<Self> {
        let tools = target().join("tools");
        let installed = tools.join("bin/cargo-fuzz");
        if !installed.exists() {
            println!("installing cargo-fuzz into {}", tools.display());
            let mut install = cargo(&["install", "cargo-fuzz", "--locked", "--version", VERSION]);
            cargo::run(install.arg("--root").arg(&tools))?;
        }
        let variables = match targets.iter().any(|target| target.package == PACKAGES[1]) {
            true => gstreamer::provide()?,
            false => Vec::new(),
        };
        let sanitizer = if sanitizes { "address" } else { "none" };
        let folder = work().join(sanitizer);
        // `cargo fuzz` always builds for an explicit target.
        let triple = cargo::host()?;
        for package in PACKAGES {
            if targets.iter().all(|target| target.package != package) {
                continue;
            }
            let mut command = Command::new(&installed);
            command.current_dir(root()).args(["fuzz", "build", "--sanitizer", sanitizer]);
            command.args(["--target", &triple, "--fuzz-dir", package]);
            command.arg("--target-dir").arg(&folder);
            if sanitizes {
                // The flag is unstable, but the pinned toolchain has the library.
                command.env("RUSTC_BOOTSTRAP", "1");
            }
            cargo::run(command.envs(variables.iter().cloned()))?;
        }
        Ok(Self { folder: folder.join(triple).join("release"), variables, sanitizes })
    }

    fn command(&self, target: &Target) -> Command {
        let mut command = Command::new(self.folder.join(&target.name));
        command.args(LIMITS).envs(self.variables.iter().cloned()).stdin(Stdio::null());
        if self.sanitizes {
            // The sanitizer's own memory counts, too. A thread that reads a stream is not joined, because it may block
            // for ever, so its memory may still be in use at the end of an input, which is not a leak.
            command.args(["-rss_limit_mb=4096", "-detect_leaks=0"]);
        }
        command
    }

    /// Runs a target for `seconds`. Returns its row of the table, and whether it passed.
    fn fuzz(&self, target: &Target, seconds: f64) -> Result<(String, bool)> {
        let name = &*target.name;
        let folder = |what: &str| work().join(what).join(name);
        let (corpus, failures) = (folder("corpus"), folder("failures"));
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&failures)?;
        fs::create_dir_all(target.corpus())?;
        let mut command = self.command(target);
        command.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
        command.arg(format!("-artifact_prefix={}/", failures.display()));
        let dictionary =
            root().join(target.package).join("dictionaries").join(format!("{name}.dict"));
        command.args(dictionary.exists().then(|| format!("-dict={}", dictionary.display())));
        command.arg(&corpus).arg(target.corpus());
        let log = work().join(format!("{name}.log"));
        let output = File::create(&log)?;
        command.stdout(output.try_clone()?).stderr(output);
        let status = command.status().map_err(|e| format!("cannot run {command:?}: {e}"))?;
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let statistic = |key: &str| {
            let line = said.lines().find(|line| line.starts_with(&format!("stat::{key}:")));
            line.and_then(|line| line.rsplit(' ').next()).unwrap_or("?")
        };
        let passed = status.success();
        let result = match said.lines().find(|line| line.contains("Test unit written to ")) {
            _ if passed => "passed".to_owned(),
            Some(line) => line.rsplit(' ').next().unwrap_or(line).to_owned(),
            None => status.to_string(),
        };
        let line = format!(
            "| `{name}` | {} | {} | {} s | {} MiB | {result} |",
            statistic("number_of_executed_units"),
            statistic("average_exec_per_sec"),
            statistic("slowest_unit_time_sec"),
            statistic("peak_rss_mb"),
        );
        Ok((line, passed))
    }
}

impl Target {
    /// Returns the folder of the target's inputs in the repository.
    fn corpus(&self) -> PathBuf {
        root().join(self.package).join("corpus").join(&self.name)
    }
}
