//! Suspends the program or one of its children with SIGSTOP at random moments, and resumes it with SIGCONT.
//!
//! The program must write the same bytes as an undisturbed run, or end with a typed error and leave the old outputs.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::Run;
use super::bed::{JOBS, State, error_kind, finish, said};
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
            let child = run.bed.command(job).spawn()?;
            let program = child.id() as i32;
            let ending = thread::spawn(move || finish(child).map_err(|error| error.to_string()));
            let mut stops = 0;
            while !ending.is_finished() && stops < 3 {
                thread::sleep(reference.time.mul_f64(0.6 * run.rng.f64()));
                let all = run.bed.processes();
                let Some(&process) = (!all.is_empty()).then(|| &all[run.rng.usize(..all.len())])
                else {
                    break;
                };
                if !signal("STOP", process)? {
                    continue;
                }
                thread::sleep(Duration::from_millis(run.rng.u64(20..400)));
                signal("CONT", process)?;
                let whom = if process == program { "program" } else { "ffmpeg" };
                run.count(NAME, job.name, format!("stops of the {whom}"));
                stops += 1;
            }
            let output = match ending.join().map_err(|_| "a thread panicked")? {
                Ok(output) => output,
                Err(error) => {
                    run.fail(NAME, job.name, error);
                    continue;
                }
            };
            run.bed.await_children()?;
            match (run.bed.state(job, &reference), error_kind(&output)) {
                (Ok((State::New, 0)), None) if output.status.success() => {
                    run.count(NAME, job.name, "runs with the new output");
                }
                (Ok((state @ (State::Old | State::Part), 0)), Some(kind)) => {
                    run.count(NAME, job.name, format!("errors of kind {kind} {}", state.text()));
                }
                (found, kind) => {
                    let text = format!("{found:?}, {kind:?}, {}, {}", output.status, said(&output));
                    run.fail(NAME, job.name, text);
                }
            }
        }
    }
    Ok(())
}
