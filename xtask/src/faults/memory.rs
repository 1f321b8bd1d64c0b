//! Limits the memory of the program: the address space of each process, or the memory of a control group.
//!
//! The program must succeed, end with a typed error, or be ended by a signal. The outputs must have their old or their
//! new content, or for a stream the first part of it.

use std::fs;
use std::path::PathBuf;

use super::Run;
use super::bed::{JOBS, Job, NO_LIMIT, Reference, State, error_kind, finish, is_killed, said};
use crate::Result;

const NAME: &str = "memory";

/// The largest limit in MiB. Above it, every command succeeds.
const MOST: f64 = 2048.0;

pub(super) fn run(run: &mut Run) -> Result {
    let group = Group::new();
    if let Err(error) = &group {
        println!("{NAME}: no control group: {error}; only the address space is limited");
    }
    for job in JOBS {
        let reference = run.bed.reference(job)?;
        for trial in 0..run.trials {
            // From 8 MiB to the largest limit, with as many trials in each octave.
            let limit = 8.0 * (MOST / 8.0).powf(run.rng.f64());
            let before = match &group {
                Ok(group) if trial % 2 == 1 => {
                    group.limit((limit / 8.0 * 1024.0 * 1024.0) as u64)?;
                    format!("echo $$ > {}/cgroup.procs", group.folder.display())
                }
                _ => format!("ulimit -v {}", (limit * 1024.0) as u64),
            };
            trial_of(run, job, &reference, &before)?;
        }
    }
    Ok(())
}

/// Runs a command after the shell commands `before`, and checks its outputs.
fn trial_of(run: &mut Run, job: Job, reference: &Reference, before: &str) -> Result {
    run.bed.reset(job)?;
    let output = match finish(run.bed.limited(job, before).spawn()?) {
        Ok(output) => output,
        Err(error) => {
            run.fail(NAME, job.name, format!("{before}: {error}"));
            return Ok(());
        }
    };
    run.bed.await_children()?;
    let found = run.bed.state(job, reference);
    // The shell itself may have too little memory to start the program.
    let code = output.status.code();
    let has_started = code != Some(127) && (code == Some(NO_LIMIT) || !starts_not(&output.stderr));
    match (found, error_kind(&output)) {
        (Ok((State::New, 0)), None) if code == Some(0) => {
            run.count(NAME, job.name, "runs with the new output")
        }
        (Ok((state, 0)), Some(kind)) if state != State::New => {
            run.count(NAME, job.name, format!("errors of kind {kind} {}", state.text()));
        }
        (Ok((state, _)), None) if is_killed(output.status) => {
            run.count(NAME, job.name, format!("ended by a signal {}", state.text()));
        }
        (Ok((State::Old, 0)), None) if !has_started => {
            run.count(NAME, job.name, "did not start");
        }
        (found, kind) => {
            let text =
                format!("{before}: {found:?}, {kind:?}, {}, {}", output.status, said(&output));
            run.fail(NAME, job.name, text);
        }
    }
    Ok(())
}

/// Returns whether the shell or the dynamic linker reported that the program cannot be loaded.
fn starts_not(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    text.contains("error while loading shared libraries") || text.starts_with("sh: ")
}

/// A control group with a limit of its memory. Dropping it removes the group.
struct Group {
    folder: PathBuf,
}

impl Group {
    fn new() -> Result<Self> {
        let folder = PathBuf::from("/sys/fs/cgroup")
            .join(format!("panoweave-faults-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder };
        group.limit(1 << 30)?;
        Ok(group)
    }

    fn limit(&self, bytes: u64) -> Result {
        fs::write(self.folder.join("memory.max"), bytes.to_string())?;
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group is empty, because all trials have ended. A group that stays does no harm.
        let _ = fs::remove_dir(&self.folder);
    }
}
