//! Handles Ctrl-C, SIGTERM and SIGHUP in a signal thread.
//!
//! - `panoweave video`, before the first frame: a signal ends the program with a message.
//! - `panoweave video`, later: the first signal ends the video after the frames so far, and completes the file. A
//!   second signal, or the end of the time limit for completing the file, kills the child processes (ffmpeg). This
//!   makes the stitch fail, so the program ends, keeps the part file and removes its temporary files. If the program still runs after
//!   `PATIENCE`, the thread that killed them removes the files and exits.
//! - Other commands: a signal ends the program.
//!
//! SIGXFSZ does not end the program: a write beyond the limit on the file size fails instead, so the command removes
//! its temporary file and reports the error.
//!
//! The signal thread exits without the exit handlers of libraries: they would run while other threads use the CUDA
//! driver, which can hang.
//!
//! If the parent process ignores SIGHUP, as `nohup` does, this program also ignores it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use panoweave::io::video::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::output::failure::{Failure, Kind, exit_code};
use crate::output::report;

/// The time that the program has to end by itself after its child processes were killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The flags that the signal thread of `panoweave video` shares with the main thread: the signal thread sets `stop` to
/// end the video, and the main thread sets `running` when it starts to write the video.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    stop: Stop,
    running: Arc<AtomicBool>,
    /// The failure with which the signal thread has killed the child processes.
    killed: Arc<OnceLock<Failure>>,
}

impl Interrupt {
    /// Starts the signal thread of `panoweave video`. `output` is the video file, for messages. `limit` is the time
    /// limit for completing it after the first signal.
    pub(crate) fn listen(output: &Path, limit: Duration, as_json: bool) -> Result<Self, Failure> {
        let this = Self::default();
        let shared = this.clone();
        let (not_begun, seconds) = (Failure::not_begun(output), limit.as_secs());
        let output = output.display();
        let at_once = Failure::interrupted(format!(
            "{output}: stopped by a second signal before it was finished"
        ));
        let too_late = Failure::interrupted(format!(
            "{output}: stopped by a signal, but not finished within {seconds} s; its encoder or the reader of a pipe does not read, or the disk is slow: raise --finish-limit"
        ));
        start(move || {
            if !shared.running.load(Ordering::Relaxed) {
                report::failure(&not_begun, as_json);
                // An earlier failure stays.
                let _ = shared.killed.set(not_begun.clone());
                shared.stop.kill();
                exit(exit_code(Kind::Interrupted).into());
            }
            if shared.stop.is_asked() {
                shared.end_now(&at_once, as_json);
            }
            shared.stop.ask();
            tracing::info!(
                "stopping: finishing the output within {seconds} s; a second signal stops at once"
            );
            let (shared, too_late) = (shared.clone(), too_late.clone());
            let end = move || {
                thread::sleep(limit);
                shared.end_now(&too_late, as_json);
            };
            // Without a thread, there is no time limit, and a second signal still ends the program.
            drop(thread::Builder::new().name("finish limit".into()).spawn(end));
        })?;
        Ok(this)
    }

    /// Starts the signal thread of a command other than `video`. At the first signal, the thread removes the temporary
    /// files and ends the program. Output files are then complete or unchanged, because a complete temporary file
    /// replaces them.
    pub(crate) fn end_at_once(as_json: bool) -> Result<(), Failure> {
        start(move || {
            panoweave::io::remove_unfinished();
            report::failure(&stopped(), as_json);
            exit(exit_code(Kind::Interrupted).into());
        })
    }

    /// Returns the stop flag, which the signal thread sets.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the failure of a video whose child processes were killed, or `None` if they were not.
    pub(crate) fn killed(&self) -> Option<Failure> {
        self.killed.get().cloned()
    }

    /// Records that the video is being written. From now on, the first signal completes the video file instead of
    /// ending the program at once.
    pub(crate) fn running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }

    /// Kills the child processes. Removes the temporary files and ends the program with `failure` if it still runs
    /// after [`PATIENCE`].
    fn end_now(&self, failure: &Failure, as_json: bool) -> ! {
        // An earlier failure stays.
        let _ = self.killed.set(failure.clone());
        self.stop.kill();
        thread::sleep(PATIENCE);
        panoweave::io::remove_unfinished();
        report::failure(failure, as_json);
        exit(exit_code(Kind::Interrupted).into());
    }
}

/// Returns the failure of a job that a signal has ended before it wrote anything.
pub(crate) fn stopped() -> Failure {
    Failure::interrupted("stopped by a signal; each output file is either complete or unchanged")
}

/// Makes a write beyond the limit on the file size (`ulimit -f`) fail, instead of ending the program by SIGXFSZ.
pub(crate) fn fail_large_writes() -> Result<(), Failure> {
    // A signal with a handler does not end the program. Nothing reads the flag that this handler sets.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(|_| ()).map_err(uninstalled)
}

/// Starts a thread that calls `on_signal` after each SIGINT, SIGTERM and SIGHUP. Does not handle SIGHUP if the parent
/// process ignores it.
fn start(mut on_signal: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    let signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup));
    let mut signals = signals.map_err(uninstalled)?;
    let listen = move || signals.forever().for_each(|_| on_signal());
    thread::Builder::new().name("signals".into()).spawn(listen).map(drop).map_err(uninstalled)
}

fn uninstalled(error: io::Error) -> Failure {
    Failure::new(Kind::Device, format!("signal handlers cannot be installed: {error}"))
}

/// Returns whether the parent process made this process ignore SIGHUP, according to `/proc/self/status`. Returns false
/// on systems without this file.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}
