//! The stages of a command: a spinner while each runs, and how long it took.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};

use crate::output::failure::Failure;

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// Runs stages and remembers their times.
pub(crate) struct Stages {
    times: Vec<(&'static str, Duration)>,
}

impl Stages {
    pub(crate) fn new() -> Self {
        Self { times: Vec::new() }
    }

    /// Runs one stage, or once more one that has run before. The spinner shows on a terminal only.
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

    /// All stages together.
    pub(crate) fn total(&self) -> Duration {
        self.times.iter().map(|(_, took)| *took).sum()
    }

    /// Milliseconds of each stage.
    pub(crate) fn json(&self) -> Value {
        let entry =
            |(name, took): &(&str, Duration)| ((*name).to_owned(), milliseconds(*took).into());
        Value::Object(self.times.iter().map(entry).collect::<Map<_, _>>())
    }
}

/// Milliseconds to three digits after the point.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
