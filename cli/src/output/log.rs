//! Sets up the log, which is written to stderr, and collects the warnings for `--json`.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

/// The modules whose warnings have a key of their own in the JSON, or do not concern the job.
const REPORTED: [&str; 3] =
    ["panoweave::output::conversions", "panoweave::output::progress", module_path!()];

/// The warnings and logged errors of the job so far, each text once.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether the log shows messages of level INFO.
static SHOWS_INFO: AtomicBool = AtomicBool::new(false);

/// Starts logging. `verbose` and `quiet` state how often `-v` and `-q` are given. If the environment variable
/// `RUST_LOG` is set, it overrides both.
pub(crate) fn start(verbose: u8, quiet: u8) {
    let own = match (verbose, quiet) {
        (0, 0) => LevelFilter::INFO,
        (0, 1) => LevelFilter::WARN,
        (0, _) => LevelFilter::ERROR,
        (1, _) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let asked = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
    let parsed = asked.as_deref().map(str::parse::<Targets>);
    let targets = match &parsed {
        Some(Ok(targets)) => targets.clone(),
        _ => Targets::new().with_target("panoweave", own),
    };
    SHOWS_INFO.store(targets.would_enable("panoweave", &Level::INFO), Ordering::Relaxed);
    // If stderr is closed, discard the log instead of failing.
    let lines = fmt::layer()
        .without_time()
        .with_target(verbose > 0)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(io::stderr)
        .with_filter(targets);
    let of_job = filter_fn(is_of_job).with_max_level_hint(LevelFilter::WARN);
    registry().with(lines).with(Collector.with_filter(of_job)).init();
    if let Some(Err(error)) = parsed {
        tracing::warn!("RUST_LOG is invalid and ignored: {error}");
    }
}

/// Returns whether the log shows messages of level INFO. Use this instead of `tracing::enabled!`: with a filter per
/// layer, that macro makes a layer lose the next event (tracing-subscriber 0.3).
pub(crate) fn shows_info() -> bool {
    SHOWS_INFO.load(Ordering::Relaxed)
}

/// Returns the warnings and logged errors of the job so far, also those that `-q` or `RUST_LOG` hides. Each text occurs
/// once. Warnings about conversions and calibrations are missing, because the JSON lists them under other keys.
pub(crate) fn warnings() -> Vec<String> {
    collected().clone()
}

fn collected() -> MutexGuard<'static, Vec<String>> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether [`warnings`] contains an event.
fn is_of_job(event: &Metadata<'_>) -> bool {
    let target = event.target();
    *event.level() <= Level::WARN && target.starts_with("panoweave") && !REPORTED.contains(&target)
}

/// A layer of the log that adds each event to [`WARNINGS`].
struct Collector;

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let mut all = collected();
        if !all.contains(&message.0) {
            all.push(message.0);
        }
    }
}

/// The text of an event.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
