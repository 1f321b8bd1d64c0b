//! Runs the stages of a command, such as reading and stitching. Shows a spinner during a stage, and records its time.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};

use crate::output::failure::{Failure, Kind};

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

    /// Starts the threads of rayon's global pool before the first stage. rayon would start them when they are needed,
    /// and panic if the system refuses a thread. Launches on the CPU have threads of their own; if the system refuses
    /// one, the launch returns an error.
    fn start_threads() -> Result<(), Failure> {
        static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
        let start = || rayon::ThreadPoolBuilder::new().build_global().map_err(|e| e.to_string());
        STARTED.get_or_init(start).clone().map_err(|error| {
            Failure::new(Kind::Device, format!("the threads that compute cannot be started: {error}; allow more memory or processes, or set RAYON_NUM_THREADS=1"))
        })
    }

    /// Runs `body` as a stage of the command. Adds the elapsed time to the total of all stages named `name`. If stderr
    /// is a terminal, shows a spinner with `message` meanwhile.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        message: &'static str,
        body: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        Self::start_threads()?;
        let spinner = ProgressBar::new_spinner().with_message(message);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        // indicatif's own ticker panics if the system refuses a thread. Without a thread, the spinner stands still.
        let (end, ended) = channel::<()>();
        let turning = spinner.clone();
        let turn = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                turning.tick();
            }
        };
        let spawn = || thread::Builder::new().name("spinner".into()).spawn(turn).ok();
        let ticker = (!spinner.is_hidden()).then(spawn).flatten();
        let start = Instant::now();
        let result = body();
        let took = start.elapsed();
        drop(end);
        // The ticker does not panic, and the command does not depend on it.
        let _ = ticker.map(thread::JoinHandle::join);
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
