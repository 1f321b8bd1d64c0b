//! `cargo cuda doctor`: checks the installation.

mod gpus;
mod rust;
mod tools;

use std::process::ExitCode;

use crate::error::Error;
use crate::output::print;

/// Checks that kernels can be built and run, and says how to get what is missing.
///
/// Only lines marked `error` prevent builds; the exit code is then 1. A missing GPU or tool is marked `missing`. Without
/// a GPU, kernels run on the CPU. Without a tool, the commands that use it do not work.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The requirement is satisfied.
    Ok,
    /// An optional part is missing.
    Missing,
    /// Kernels cannot be built.
    Error,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    state: State,
    /// The name of the requirement.
    name: String,
    /// The version that was found, or the remedy.
    text: String,
}

impl Finding {
    fn new(state: State, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { state, name: name.into(), text: text.into() }
    }

    fn line(&self) -> String {
        let state = match self.state {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Error => "error",
        };
        format!("{state:8} {:18} {}", self.name, self.text)
    }
}

/// Runs every check and prints one line for each. Returns the exit code 1 if kernels cannot be built.
pub(crate) fn run(_: &Args) -> Result<ExitCode, Error> {
    let mut findings = rust::check();
    findings.extend(tools::check());
    findings.extend(gpus::check());
    let lines: String = findings.iter().map(|finding| finding.line() + "\n").collect();
    print(&format!("{lines}{}\n", summary(&findings)))?;
    let is_broken = findings.iter().any(|finding| finding.state == State::Error);
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns whether kernels can be built and where they can run, as a sentence.
fn summary(findings: &[Finding]) -> &'static str {
    let is_broken = findings.iter().any(|finding| finding.state == State::Error);
    let has_gpu =
        findings.iter().any(|finding| finding.state == State::Ok && gpus::is_gpu(&finding.name));
    match (is_broken, has_gpu) {
        (true, _) => "Kernels cannot be built: correct the errors above.",
        (false, true) => "Kernels can be built, and run on the GPU and the CPU.",
        (false, false) => "Kernels can be built, and run on the CPU.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_prevent_builds() {
        let rustc = Finding::new(State::Ok, "rustc", "1.95.0");
        let missing = Finding::new(State::Missing, "ptxas", "install it");
        let gpu = Finding::new(State::Ok, "GPU 0", "H100");
        let error = Finding::new(State::Error, "rustc", "too old");
        assert!(summary(&[rustc.clone(), missing.clone()]).ends_with("run on the CPU."));
        assert!(summary(&[rustc, missing.clone(), gpu]).contains("GPU and the CPU"));
        assert!(summary(&[error, missing.clone()]).contains("cannot"));
        assert_eq!(missing.line(), "missing  ptxas              install it");
    }
}
