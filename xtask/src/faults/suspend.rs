//! Suspends the program or one of its children with SIGSTOP at random moments, and resumes it with SIGCONT.
//!
//! The program must write the same bytes as an undisturbed run, or end with a typed error and leave the old outputs.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::Run;
use super::bed::JOBS;
use crate::Result;

const NAME: &str = "suspend";

/// Sends a signal to a process. Returns `false` if the process has already ended.
fn signal(name: &str, process: i32) -> Result<bool> {
    let output = Command::new("kill").args(["-s", name, &process.to_string()]).output();
    let output = output.map_err(|error| format!("cannot run `kill`: {error}"))?;
    if !output.status.success() && Path::new("/proc").join(process.to_string()).exists() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cannot send SIG{name} to process {process}: {}", text.trim()).into());
    }
    Ok(output.status.success())
}

pub(super) fn run(run: &mut Run) -> Result {
    for job in JOBS {
        let reference = run.bed.reference(job)?;
        for _ in 0..run.trials {
            run.bed.reset(job)?;
            let mut child = run.bed.command(job).spawn()?;
            let program = child.id() as i32;
            for _ in 0..3 {
                thread::sleep(reference.time.mul_f64(0.6 * run.rng.f64()));
                let all = run.bed.processes();
                if child.try_wait()?.is_some() || all.is_empty() {
                    break;
                }
                let process = all[run.rng.usize(..all.len())];
                if !signal("STOP", process)? {
                    continue;
                }
                thread::sleep(Duration::from_millis(run.rng.u64(20..400)));
                signal("CONT", process)?;
                let whom = if process == program { "program" } else { "ffmpeg" };
                run.count(NAME, job.name, format!("stops of the {whom}"));
            }
            run.check(NAME, job, &reference, child, "suspended", |kind| kind.is_some())?;
        }
    }
    Ok(())
}
