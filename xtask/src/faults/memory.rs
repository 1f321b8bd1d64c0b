//! Limits the memory of the program: the address space of each process, or the memory of a control group.
//!
//! The program must succeed, end with a typed error, or be ended by a signal. The outputs must have their old or their
//! new content, or for a stream the first part of it.

use std::fs;
use std::path::PathBuf;

use super::Run;
use super::bed::JOBS;
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
            run.bed.reset(job)?;
            let child = run.bed.limited(job, &before).spawn()?;
            run.check(NAME, job, &reference, child, &before, |_| true)?;
        }
    }
    Ok(())
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
