//! Kills the program with SIGKILL at random moments of every command that writes files, half of them while it writes.
//!
//! After the kill, each output must have its old or its new content, and all children must end. The next run of the
//! command must then succeed and remove the temporary files of the killed run.

use std::thread;
use std::time::{Duration, Instant};

use super::Run;
use super::bed::{JOBS, LIMIT, State, finish, is_killed, said};
use crate::Result;

const NAME: &str = "kill";

pub(super) fn run(run: &mut Run) -> Result {
    for job in JOBS {
        let reference = run.bed.reference(job)?;
        for trial in 0..run.trials {
            run.bed.reset(job)?;
            let mut child = run.bed.command(job).spawn()?;
            if trial % 2 == 0 {
                thread::sleep(reference.time.mul_f64(1.1 * run.rng.f64()));
            } else {
                // Most of the time, a command reads and computes. Half of the kills aim at the time in which it writes.
                let start = Instant::now();
                while run.bed.temporary()? == 0 && child.try_wait()?.is_none() {
                    if start.elapsed() > LIMIT {
                        let text = format!("neither writes nor ends in {} s", LIMIT.as_secs());
                        run.fail(NAME, job.name, text);
                        break;
                    }
                    thread::sleep(Duration::from_micros(200));
                }
                thread::sleep(Duration::from_micros(run.rng.u64(0..5000)));
            }
            child.kill()?;
            let status = child.wait()?;
            if let Err(error) = run.bed.await_children() {
                run.fail(NAME, job.name, error.to_string());
                continue;
            }
            let (state, temporary) = match run.bed.state(job, &reference) {
                Ok(found) => found,
                Err(error) => {
                    run.fail(NAME, job.name, format!("after the kill, {error}"));
                    continue;
                }
            };
            let ended = if is_killed(status) { "killed" } else { "already done" };
            run.count(NAME, job.name, format!("{ended} {}", state.text()));
            if temporary > 0 {
                run.count(NAME, job.name, "left a temporary file");
            }
            run.bed.age()?;
            let output = match finish(run.bed.command(job).spawn()?) {
                Ok(output) => output,
                Err(error) => {
                    run.fail(NAME, job.name, format!("the next run: {error}"));
                    continue;
                }
            };
            match run.bed.state(job, &reference) {
                Ok((State::New, 0)) if output.status.success() => {}
                found => {
                    let text =
                        format!("the next run: {found:?}, {}, {}", output.status, said(&output));
                    run.fail(NAME, job.name, text);
                }
            }
        }
    }
    Ok(())
}
