//! Runs programs with a time limit and measures their wall and CPU time.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that programs took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Seconds on the clock.
    pub wall: f64,
    /// Seconds of all cores, if the system tells it (Linux).
    pub cpu: Option<f64>,
}

/// Returns the CPU time of all child processes that have ended, in seconds. Only Linux tells it, in steps of 10 ms.
fn of_children() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The fields after the name, which is in brackets, start with the third. Fields 16 and 17 are the children's time
    // in user and kernel mode, in hundredths of a second.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(13)?.parse::<f64>().ok()? + fields.get(14)?.parse::<f64>().ok()?) / 100.0)
}

/// Runs programs one after the other until one fails or the time is over. What they print goes to `log`. Returns the
/// times, and the reason if a program failed.
pub fn run(steps: Vec<Command>, limit: Duration, log: &Path) -> (Times, Result<(), String>) {
    let (start, before) = (Instant::now(), of_children());
    let result = steps.into_iter().try_for_each(|step| one(step, start + limit, log));
    let cpu = of_children().zip(before).map(|(after, before)| after - before);
    (Times { wall: start.elapsed().as_secs_f64(), cpu }, result)
}

fn one(mut step: Command, end: Instant, log: &Path) -> Result<(), String> {
    let name = step.get_program().to_string_lossy().into_owned();
    let name = Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let open = || File::options().create(true).append(true).open(log).map_err(|e| e.to_string());
    let mut child = step
        .stdin(Stdio::null())
        .stdout(open()?)
        .stderr(open()?)
        .spawn()
        .map_err(|error| format!("{name} does not start: {error}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{name}: {status}{}", last_line(log))),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                // If the kill fails, the program has just ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name}: time limit exceeded"));
            }
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
}

/// Returns the last line of the log that has letters, as the reason of a failure.
fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let has_letters = |line: &&str| line.chars().any(char::is_alphabetic);
    let line: String =
        text.lines().rev().find(has_letters).unwrap_or_default().trim().chars().take(200).collect();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// Returns all that a program prints, or `None` if it does not start.
#[must_use]
pub fn printed(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
