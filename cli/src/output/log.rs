//! Sets up the log, which is written to stderr.

use std::io;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

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
    // If stderr is closed, discard the log instead of failing.
    let lines = fmt::layer()
        .without_time()
        .with_target(verbose > 0)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(io::stderr);
    registry().with(lines).with(targets).init();
    if let Some(Err(error)) = parsed {
        tracing::warn!("RUST_LOG is invalid and ignored: {error}");
    }
}
