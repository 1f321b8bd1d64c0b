//! Handles Ctrl-C, SIGTERM and SIGHUP in a signal thread.
//!
//! - `panoweave video`, before the first frame: a signal ends the program with a message.
//! - `panoweave video`, later: the first signal ends the video after the frames so far, and completes the file. A
//!   second signal, or the end of the time limit for completing the file, kills the child processes (ffmpeg). This
//!   makes the stitch fail, so the program ends and removes its temporary files. If the program still runs after
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

use std::path::{Path, PathBuf};
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

/// The time that the program has to end by itself after its child processes were killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The flags that the signal thread of `panoweave video` shares with the main thread: the signal thread sets `stop` to
/// end the video, and the main thread sets `running` when it starts to write the video.
pub(crate) struct Interrupt {
    stop: Stop,
    running: Arc<AtomicBool>,
    /// Whether the time limit for completing the file has ended.
    late: Arc<AtomicBool>,
    output: PathBuf,
    /// The time limit for completing the file after the first signal.
    limit: Duration,
}

impl Interrupt {
    /// Starts the signal thread of `panoweave video`. `output` is the video file, for messages. `limit` is the time
    /// limit for completing it after the first signal.
    pub(crate) fn listen(output: &Path, limit: Duration, as_json: bool) -> Result<Self, Failure> {
        let (stop, running, late) = (Stop::default(), Arc::default(), Arc::default());
        let this = Self { stop, running, late, output: output.to_owned(), limit };
        let (stop, running) = (this.stop.clone(), Arc::clone(&this.running));
        let late = Arc::clone(&this.late);
        let mut signals = signals()?;
        let not_begun = Failure::NotBegun { file: output.to_owned() };
        let at_once = Failure::Interrupted { file: output.to_owned() };
        let too_late = Arc::new(Failure::FinishLimit { file: output.to_owned(), limit });
        let listen = move || {
            for _ in signals.forever() {
                if running.load(Ordering::Relaxed) && !stop.is_asked() {
                    stop.ask();
                    let seconds = limit.as_secs();
                    tracing::info!(
                        "stopping: finishing the output within {seconds} s; a second signal stops at once"
                    );
                    let (stop, late, failure) =
                        (stop.clone(), Arc::clone(&late), Arc::clone(&too_late));
                    let end = move || {
                        thread::sleep(limit);
                        late.store(true, Ordering::Relaxed);
                        end_now(&stop, &failure, as_json);
                    };
                    // Without a thread, there is no time limit, and a second signal still ends the program.
                    drop(thread::Builder::new().name("finish limit".into()).spawn(end));
                    continue;
                }
                let begun = running.load(Ordering::Relaxed);
                if !begun {
                    report::failure(&not_begun, as_json);
                }
                if begun {
                    end_now(&stop, &at_once, as_json);
                }
                stop.kill();
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

    /// Returns the failure of a video whose child processes were killed, or `None` if they were not.
    pub(crate) fn killed(&self) -> Option<Failure> {
        let (file, limit) = (self.output.clone(), self.limit);
        self.stop.is_killed().then(|| match self.late.load(Ordering::Relaxed) {
            true => Failure::FinishLimit { file, limit },
            false => Failure::Interrupted { file },
        })
    }

    /// Records that the video is being written. From now on, the first signal completes the video file instead of
    /// ending the program at once.
    pub(crate) fn running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }
}

/// Kills the child processes. Removes the temporary files and ends the program with `failure` if it still runs after
/// [`PATIENCE`].
fn end_now(stop: &Stop, failure: &Failure, as_json: bool) -> ! {
    stop.kill();
    thread::sleep(PATIENCE);
    panoweave::io::remove_unfinished();
    report::failure(failure, as_json);
    exit(Kind::Interrupted.exit_code().into());
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
