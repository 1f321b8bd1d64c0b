//! Handles Ctrl-C, SIGTERM and SIGHUP in a signal thread.
//!
//! - `panoweave video`, before the first frame: a signal ends the program with a message.
//! - `panoweave video`, later: the first signal ends the video after the frames so far, and completes the file. A
//!   second signal kills the child processes (ffmpeg). This makes the stitch fail, so the program ends and removes its
//!   temporary files. If the program still runs after `PATIENCE`, the signal thread removes the files and exits.
//! - Other commands: a signal ends the program.
//!
//! SIGXFSZ does not end the program: a write beyond the limit on the file size fails instead, so the command removes its
//! temporary file and reports the error.
//!
//! The signal thread exits without the exit handlers of libraries: they would run while other threads use the CUDA driver,
//! which can hang.
//!
//! If the parent process ignores SIGHUP, as `nohup` does, this program also ignores it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use panoweave::io::video::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::output::failure::{Failure, Kind};
use crate::output::report;

/// The time that the program has to end by itself after a second signal. After this time, the signal thread ends it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The flags that the signal thread of `panoweave video` shares with the main thread: the signal thread sets `stop` to
/// end the video, and the main thread sets `running` when it starts to write the video.
pub(crate) struct Interrupt {
    stop: Stop,
    running: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts the signal thread of `panoweave video`. `output` is the video file, for messages.
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
                    tracing::info!("stopping: finishing the output; a second signal stops at once");
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
                exit(Kind::Interrupted.exit_code().into());
            }
        };
        thread::Builder::new().name("signals".into()).spawn(listen).map_err(Failure::Signals)?;
        Ok(this)
    }

    /// Starts the signal thread of a command other than `video`. At the first signal, the thread removes the temporary
    /// files and ends the program. Output files are then complete or unchanged, because a complete temporary file
    /// replaces them.
    pub(crate) fn end_at_once(as_json: bool) -> Result<(), Failure> {
        let mut signals = signals()?;
        let listen = move || {
            if signals.forever().next().is_some() {
                panoweave::io::remove_unfinished();
                report::failure(&Failure::Stopped, as_json);
                exit(Kind::Interrupted.exit_code().into());
            }
        };
        thread::Builder::new().name("signals".into()).spawn(listen).map_err(Failure::Signals)?;
        Ok(())
    }

    /// Returns the stop flag, which the signal thread sets.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Records that the video is being written. From now on, the first signal completes the video file instead of
    /// ending the program at once.
    pub(crate) fn running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }
}

/// Makes a write beyond the limit on the file size (`ulimit -f`) fail, instead of ending the program by SIGXFSZ.
pub(crate) fn fail_large_writes() -> Result<(), Failure> {
    // A signal with a handler does not end the program. Nothing reads the flag that this handler sets.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(|_| ()).map_err(Failure::Signals)
}

/// Registers handlers for SIGINT, SIGTERM and SIGHUP. Does not handle SIGHUP if the parent process ignores it.
fn signals() -> Result<Signals, Failure> {
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)).map_err(Failure::Signals)
}

/// Returns whether the parent process made this process ignore SIGHUP, according to `/proc/self/status`. Returns false
/// on systems without this file.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}
