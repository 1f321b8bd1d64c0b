//! `cargo xtask faults`: runs the program while something goes wrong, and checks the files that it leaves.
//!
//! | file | contents |
//! |---|---|
//! | `bed` | the inputs, the commands that write files, and the check of their outputs |
//! | `kill` | `kill -9` at random moments |
//! | `suspend` | SIGSTOP and SIGCONT of the program and of ffmpeg at random moments |
//! | `disk` | a limit of the file size, a full disk, and a reader that is slower than the program |
//! | `memory` | limits of the address space and of a control group |
//!
//! `doc/reliability.md` has the results.

mod bed;
mod disk;
mod kill;
mod memory;
mod suspend;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Output};

use fastrand::Rng;

use crate::Result;
use bed::{Bed, Job, NO_LIMIT, Reference, State, error_kind, finish, is_killed, said};

/// Runs the trials of a fault.
type Trials = fn(&mut Run) -> Result;

/// The faults, with the function that runs each of them.
const FAULTS: [(&str, Trials); 4] =
    [("kill", kill::run), ("suspend", suspend::run), ("disk", disk::run), ("memory", memory::run)];

/// The state of a run: its settings, and the counts of what happened.
struct Run {
    bed: Bed,
    rng: Rng,
    /// The number of trials per command and fault.
    trials: u32,
    /// The number of times that each outcome happened, by fault and command.
    counts: BTreeMap<(&'static str, &'static str), BTreeMap<String, u32>>,
    /// The checks that failed.
    failures: Vec<String>,
}

impl Run {
    /// Counts an outcome of a trial.
    fn count(&mut self, fault: &'static str, job: &'static str, outcome: impl Into<String>) {
        *self.counts.entry((fault, job)).or_default().entry(outcome.into()).or_default() += 1;
    }

    /// Notes a check that failed.
    fn fail(&mut self, fault: &'static str, job: &'static str, text: impl Into<String>) {
        self.count(fault, job, "FAILED");
        let text = format!("{fault}, {job}: {}", text.into());
        eprintln!("{text}");
        self.failures.push(text);
    }

    /// Waits for a command that a fault disturbs, and counts its outcome. A command without the new output must have
    /// printed an error whose kind is `allowed`, or have been ended by a signal if `None` is. `what` describes the fault.
    fn check(
        &mut self,
        fault: &'static str,
        job: Job,
        reference: &Reference,
        child: Child,
        what: &str,
        allowed: impl Fn(Option<&str>) -> bool,
    ) -> Result {
        let output = match finish(child) {
            Ok(output) => output,
            Err(error) => {
                self.fail(fault, job.name, format!("{what}: {error}"));
                return Ok(());
            }
        };
        self.bed.await_children()?;
        let (found, kind) = (self.bed.state(job, reference), error_kind(&output));
        let may_fail = allowed(kind.as_deref());
        match (&found, &kind) {
            (Ok((State::New, 0)), None) if output.status.success() => {
                self.count(fault, job.name, "runs with the new output");
            }
            (Ok((state, 0)), Some(kind)) if *state != State::New && may_fail => {
                self.count(fault, job.name, format!("errors of kind {kind} {}", state.text()));
            }
            (Ok((state, _)), None) if is_killed(output.status) && may_fail => {
                self.count(fault, job.name, format!("ended by a signal {}", state.text()));
            }
            (Ok((State::Old, 0)), None) if has_not_started(&output) && may_fail => {
                self.count(fault, job.name, "did not start");
            }
            _ => {
                let status = output.status;
                let text = format!("{what}: {found:?}, {kind:?}, {status}, {}", said(&output));
                self.fail(fault, job.name, text);
            }
        }
        Ok(())
    }
}

/// Returns whether the shell or the dynamic linker had too little memory to load the program.
fn has_not_started(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    let is_reported =
        text.contains("error while loading shared libraries") || text.starts_with("sh: ");
    output.status.code() == Some(127) || is_reported && output.status.code() != Some(NO_LIMIT)
}

/// Runs the faults that `arguments` name, or all of them. `--trials N` and `--seed N` set the number of trials per
/// command and the seed of the random moments. `--program FILE` names the program panoweave to use instead of building
/// it.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let (mut chosen, mut trials, mut seed, mut program) = (Vec::new(), 25, None, None);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || rest.next().copied().ok_or(format!("{argument} needs a value"));
        match argument {
            "--trials" => trials = value()?.parse()?,
            "--seed" => seed = Some(value()?.parse()?),
            "--program" => program = Some(PathBuf::from(value()?)),
            name => match FAULTS.into_iter().find(|fault| fault.0 == name) {
                Some(fault) => chosen.push(fault),
                None => return Err(format!("unknown fault `{name}`").into()),
            },
        }
    }
    if chosen.is_empty() {
        chosen.extend(FAULTS);
    }
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}, {trials} trials per command");
    let bed = Bed::new(program)?;
    let rng = Rng::with_seed(seed);
    let mut run = Run { bed, rng, trials, counts: BTreeMap::new(), failures: Vec::new() };
    for (name, fault) in chosen {
        if let Err(error) = fault(&mut run) {
            run.fail(name, "", error.to_string());
        }
    }
    for ((fault, job), outcomes) in &run.counts {
        let outcomes: Vec<_> =
            outcomes.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("{fault:8} {job:14} {}", outcomes.join(", "));
    }
    if run.failures.is_empty() {
        return Ok(());
    }
    Err(format!("{} checks failed; repeat them with --seed {seed}", run.failures.len()).into())
}
