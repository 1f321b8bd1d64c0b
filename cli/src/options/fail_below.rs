//! The option `--fail-below`: minimum scores. If a score is below its minimum, the program exits with code 5.
//!
//! The subcommands `compare` and `quality` share the option. Each passes the names of its own scores.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::output::failure::{CHECK_FAILED, Failure};

/// The allowed values of the option.
const EXPECTED: &str =
    "the value must be SCORE or NAME=SCORE with a score from 0 to 1, as in 0.9 or seam=0.9";

/// The values of the option `--fail-below`, which can be given several times.
#[derive(Debug, clap::Args)]
pub(crate) struct FailBelow {
    /// Exits with code 5 if the score NAME is below SCORE, a number from 0 to 1. Without NAME, exits with code 5 if any
    /// score is below SCORE. The option can be given several times.
    #[arg(long = "fail-below", value_name = "[NAME=]SCORE")]
    gates: Vec<Gate>,
}

/// A required minimum for one score, or for all scores. Scores are from 0 to 1, and 1 is best.
#[derive(Clone, Debug, PartialEq)]
struct Gate {
    /// The name of the score that must reach the minimum. `None` if all scores must reach it.
    name: Option<String>,
    least: f64,
}

impl FromStr for Gate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (name, number) = match text.split_once('=') {
            Some((name, number)) => (Some(name.trim().to_owned()), number),
            None => (None, text),
        };
        let least: f64 = number.trim().parse().map_err(|_| EXPECTED)?;
        let fine =
            (0.0..=1.0).contains(&least) && name.as_ref().is_none_or(|name| !name.is_empty());
        if fine { Ok(Self { name, least }) } else { Err(EXPECTED) }
    }
}

/// The result of checking all minimums: the scores that are below their minimum.
pub(crate) struct Judged {
    /// For each score that is too low: its name, its value and the required minimum.
    below: Vec<(&'static str, f64, f64)>,
}

impl FailBelow {
    /// Fails if a `--fail-below` option names a score that is not in `known`. Commands call this function before any
    /// computation.
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), Failure> {
        for name in self.gates.iter().filter_map(|gate| gate.name.as_deref()) {
            if !known.contains(&name) {
                return Err(Failure::usage(format!(
                    "--fail-below: there is no score {name}; choose one of: {}",
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Compares `scores`, pairs of name and value, with the minimums. Fails if `scores` lacks a score that has a
    /// minimum. Such a score could not be measured.
    pub(crate) fn judge(&self, scores: &[(&'static str, f64)]) -> Result<Judged, Failure> {
        let mut below = Vec::new();
        for Gate { name, least } in &self.gates {
            let found = match name {
                Some(name) => scores.iter().find(|(score, _)| score == name),
                None => scores.iter().min_by(|a, b| a.1.total_cmp(&b.1)),
            };
            let Some(&(score, value)) = found else {
                let name = name.as_deref().unwrap_or("any score");
                return Err(Failure::input(format!(
                    "--fail-below: no value was measured for {name}, so the limit cannot be checked; give another score, or remove the option"
                )));
            };
            if value < *least {
                below.push((score, value, *least));
            }
        }
        Ok(Judged { below })
    }
}

impl Judged {
    /// Formats one line for each score below its minimum. Returns an empty text if there is no such score.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value, least) in &self.below {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "failed: {name} is {value:.6}, below {least}");
        }
        text
    }

    /// Returns the scores below their minimum as a JSON array.
    pub(crate) fn json(&self) -> Value {
        let entry = |(name, value, least): &(&str, f64, f64)| json!({ "score": name, "value": value, "fail_below": least });
        self.below.iter().map(entry).collect()
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.below.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_a_number_with_or_without_a_name() {
        assert_eq!("0.9".parse(), Ok(Gate { name: None, least: 0.9 }));
        assert_eq!("seam=1".parse(), Ok(Gate { name: Some("seam".to_owned()), least: 1.0 }));
        for text in ["", "x", "seam=", "=0.5", "1.5", "-0.1", "nan", "a=b=0.5"] {
            assert_eq!(text.parse::<Gate>(), Err(EXPECTED), "{text}");
        }
    }
}
