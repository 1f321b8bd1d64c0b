//! Ctrl-C, SIGTERM and SIGHUP: the first signal finishes a video, the second one aborts.
//!
//! If the parent process ignores SIGHUP, as `nohup` does, this program ignores it too.
//!
//! Before the first frame there is nothing to finish, so the first signal ends the program with a message. After a
//! second signal the children are killed. The program then ends through their errors, which removes temporary files,
//! or is terminated after a timeout.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use panoweave::io::video::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::output::failure::{Failure, Kind};
use crate::output::report;

/// Time for the program to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// The signal listener.
pub(crate) struct Interrupt {
    stop: Stop,
    running: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens during a video that is written to `output`.
    pub(crate) fn listen(output: &Path, as_json: bool) -> Result<Self, Failure> {
        let this = Self { stop: Stop::default(), running: Arc::default() };
        let (stop, running) = (this.stop.clone(), Arc::clone(&this.running));
        let mut signals = signals()?;
        let not_begun = Failure::NotBegun { file: output.to_owned() };
        let at_once = Failure::Interrupted { file: output.to_owned() };
        let listen = move || {
            for _ in signals.forever() {
                if running.load(Ordering::Relaxed) && !stop.is_asked() {
                    stop.ask();
                    tracing::info!("stopping: the output is being finished; again to stop at once");
                    continue;
                }
                let begun = running.load(Ordering::Relaxed);
                if !begun {
                    report::failure(&not_begun, as_json);
                }
                stop.kill();
                if begun {
                    thread::sleep(PATIENCE);
                    panoweave::io::remove_unfinished();
                    report::failure(&at_once, as_json);
                }
                std::process::exit(Kind::Interrupted.exit_code().into());
            }
        };
        thread::Builder::new().name("signals".into()).spawn(listen).map_err(Failure::Signals)?;
        Ok(this)
    }

    /// Listens during a command whose outputs appear when they are complete: the first signal ends it and leaves no
    /// partial file.
    pub(crate) fn end_at_once(as_json: bool) -> Result<(), Failure> {
        let mut signals = signals()?;
        let listen = move || {
            if signals.forever().next().is_some() {
                panoweave::io::remove_unfinished();
                report::failure(&Failure::Stopped, as_json);
                std::process::exit(Kind::Interrupted.exit_code().into());
            }
        };
        thread::Builder::new().name("signals".into()).spawn(listen).map_err(Failure::Signals)?;
        Ok(())
    }

    /// Returns the stop flag that a signal sets.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Notes that there is a video to finish from now on.
    pub(crate) fn running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }
}

/// Returns the signals that end the program.
fn signals() -> Result<Signals, Failure> {
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)).map_err(Failure::Signals)
}

/// Returns whether SIGHUP is ignored, which a process inherits. Only Linux reports it.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}
