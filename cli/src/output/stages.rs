//! Runs the stages of a command, such as reading and stitching. Shows a spinner during a stage, and records its time.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};

use crate::output::failure::{Failure, Kind};

/// The interval between steps of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// The total time of each stage that has run so far, in the order in which the stages first ran.
pub(crate) struct Stages {
    times: Vec<(&'static str, Duration)>,
    current: Option<Stage>,
}

/// A running stage.
struct Stage {
    name: &'static str,
    start: Instant,
    spinner: ProgressBar,
    /// The thread that turns the spinner, and the sender whose drop ends it.
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Stages {
    /// Creates the record of a command's stages, and starts the threads that compute.
    pub(crate) fn new() -> Result<Self, Failure> {
        Self::start_threads()?;
        Ok(Self { times: Vec::new(), current: None })
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

    /// Begins a stage, and ends the one before it. If stderr is a terminal, shows a spinner with `message` meanwhile.
    pub(crate) fn begin(&mut self, name: &'static str, message: &'static str) {
        self.end();
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
        let ticker = (!spinner.is_hidden()).then(spawn).flatten().map(|thread| (end, thread));
        self.current = Some(Stage { name, start: Instant::now(), spinner, ticker });
    }

    /// Ends the current stage, if any. Adds its time to the total of all stages with its name.
    pub(crate) fn end(&mut self) {
        let Some(Stage { name, start, spinner, ticker }) = self.current.take() else { return };
        let took = start.elapsed();
        if let Some((end, thread)) = ticker {
            drop(end);
            // The ticker does not panic, and the command does not depend on it.
            let _ = thread.join();
        }
        spinner.finish_and_clear();
        tracing::debug!("{name}: {:.1} ms", milliseconds(took));
        match self.times.iter_mut().find(|(before, _)| *before == name) {
            Some((_, time)) => *time += took,
            None => self.times.push((name, took)),
        }
    }

    /// Runs `body` as a stage of the command.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        message: &'static str,
        body: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.begin(name, message);
        let result = body();
        self.end();
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
