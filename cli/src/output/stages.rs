//! Runs the stages of a command, such as reading and stitching. Shows a spinner during a stage, and records its time.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};

use crate::output::failure::Failure;

/// The interval between steps of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// The total time of each stage that has run so far, in the order in which the stages first ran.
pub(crate) struct Stages {
    times: Vec<(&'static str, Duration)>,
}

impl Stages {
    pub(crate) fn new() -> Self {
        Self { times: Vec::new() }
    }

    /// Runs `body` as a stage of the command. Adds the elapsed time to the total of all stages named `name`. If stderr
    /// is a terminal, shows a spinner with `message` meanwhile.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        message: &'static str,
        body: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let spinner = ProgressBar::new_spinner().with_message(message);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(TICK);
        let start = Instant::now();
        let result = body();
        let took = start.elapsed();
        spinner.finish_and_clear();
        tracing::debug!("{name}: {:.1} ms", milliseconds(took));
        match self.times.iter_mut().find(|(before, _)| *before == name) {
            Some((_, time)) => *time += took,
            None => self.times.push((name, took)),
        }
        result
    }

    /// Returns the sum of the times of all stages.
    pub(crate) fn total(&self) -> Duration {
        self.times.iter().map(|(_, took)| *took).sum()
    }

    /// Returns a JSON object with the time of each stage in milliseconds.
    pub(crate) fn json(&self) -> Value {
        let entry =
            |(name, took): &(&str, Duration)| ((*name).to_owned(), milliseconds(*took).into());
        Value::Object(self.times.iter().map(entry).collect::<Map<_, _>>())
    }
}

/// Returns a time in milliseconds, rounded to three decimal places.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
