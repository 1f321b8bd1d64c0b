//! Random faults (`--faults`): cameras stop, frames are late, timestamps jump, warps change, and the process is
//! suspended.
//!
//! A thread of its own chooses the faults and their moments. The sequence depends only on the seed; the moments also
//! depend on the scheduler. No fault is active in the pause at the end of a cycle, so the measurements stay comparable.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use panoweave::live::Session;
use panoweave::warp::MAX_CAMERAS;
use serde::Serialize;

use crate::phase::Plan;
use crate::run::{SoakError, Warps};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Fault {
    /// A camera sends nothing.
    Stop,
    /// Frames of a camera arrive late.
    Late,
    /// The timestamps of a camera jump ahead or back, and return later.
    Jump,
    /// The warp changes and changes back.
    Swap,
    /// SIGSTOP suspends the process, and SIGCONT resumes it.
    Suspend,
}

impl Fault {
    pub(crate) const ALL: [Self; 5] =
        [Self::Stop, Self::Late, Self::Jump, Self::Swap, Self::Suspend];
}

/// A fault, the camera that it affects, its strength from 0 to 1, and the pause after it, also from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    fault: Fault,
    camera: usize,
    strength: f64,
    pause: f64,
}

/// The sequence of faults of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    state: u64,
    cameras: usize,
}

impl Sequence {
    pub(crate) fn new(seed: u64, cameras: usize) -> Self {
        Self { state: seed, cameras }
    }

    /// Returns the next random number (SplitMix64).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn event(&mut self) -> Event {
        let fault = Fault::ALL[(self.next() % Fault::ALL.len() as u64) as usize];
        let camera = (self.next() % self.cameras as u64) as usize;
        Event { fault, camera, strength: self.fraction(), pause: self.fraction() }
    }
}

/// The faults that are active, shared by the cameras and the thread that makes the faults.
#[derive(Default)]
pub(crate) struct Active {
    stopped: [AtomicBool; MAX_CAMERAS],
    /// The time in microseconds by which each camera's frames are late.
    late: [AtomicU64; MAX_CAMERAS],
    /// The time in microseconds that is added to each camera's timestamps.
    jump: [AtomicI64; MAX_CAMERAS],
    /// Whether no fault may begin.
    quiet: AtomicBool,
    /// Locked while a fault is active.
    busy: Mutex<()>,
    counts: [AtomicU64; Fault::ALL.len()],
}

impl Active {
    pub(crate) fn is_stopped(&self, camera: usize) -> bool {
        self.stopped[camera].load(Relaxed)
    }

    pub(crate) fn lateness(&self, camera: usize) -> Duration {
        Duration::from_micros(self.late[camera].load(Relaxed))
    }

    /// Returns the timestamp that a camera gives to a frame whose true timestamp is `time`.
    pub(crate) fn stamp(&self, camera: usize, time: Duration) -> Duration {
        let jump = self.jump[camera].load(Relaxed);
        let by = Duration::from_micros(jump.unsigned_abs());
        if jump < 0 { time.saturating_sub(by) } else { time + by }
    }

    /// Allows faults, or forbids that one begins. An active fault ends soon after that.
    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Relaxed);
    }

    /// Waits until no fault is active.
    pub(crate) fn idle(&self) -> MutexGuard<'_, ()> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of faults of each kind.
    pub(crate) fn counts(&self) -> Vec<(Fault, u64)> {
        Fault::ALL.into_iter().zip(self.counts.iter().map(|count| count.load(Relaxed))).collect()
    }

    /// Sleeps for `time`, or until no fault may be active any more.
    fn hold(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.quiet.load(Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes faults until `is_over` returns true.
    pub(crate) fn make(
        &self,
        sequence: &mut Sequence,
        plan: Plan,
        session: &Session,
        warps: &Warps<'_>,
        is_over: impl Fn() -> bool,
    ) -> Result<(), SoakError> {
        // About ten faults in a cycle.
        let unit = plan.cycle.div_f64(20.0).min(Duration::from_secs(2));
        while !is_over() {
            let event = sequence.event();
            let pause = Instant::now() + unit.mul_f64(0.2 + event.pause);
            while Instant::now() < pause && !is_over() {
                thread::sleep(Duration::from_millis(10));
            }
            let _busy = self.idle();
            if !self.quiet.load(Relaxed) && !is_over() {
                self.cause(event, unit, session, warps)?;
                self.counts[event.fault as usize].fetch_add(1, Relaxed);
            }
        }
        Ok(())
    }

    /// Causes a fault that takes up to `unit`, and ends it.
    fn cause(
        &self,
        event: Event,
        unit: Duration,
        session: &Session,
        warps: &Warps<'_>,
    ) -> Result<(), SoakError> {
        let Event { fault, camera, strength, .. } = event;
        let time = unit.mul_f64(0.2 + 0.8 * strength);
        match fault {
            Fault::Stop => {
                self.stopped[camera].store(true, Relaxed);
                self.hold(time);
                self.stopped[camera].store(false, Relaxed);
            }
            Fault::Late => {
                self.late[camera].store((strength * 150e3) as u64, Relaxed);
                self.hold(time);
                self.late[camera].store(0, Relaxed);
            }
            Fault::Jump => {
                // From 4 seconds back to 4 seconds ahead. Up to one second back counts as late frames, and more as a
                // clock that was set.
                self.jump[camera].store(((2.0 * strength - 1.0) * 4e6) as i64, Relaxed);
                self.hold(time);
                self.jump[camera].store(0, Relaxed);
            }
            Fault::Swap => {
                session.swap(warps.render(0.1 + 0.2 * strength)?)?;
                self.hold(time);
                session.swap(warps.render(0.0)?)?;
            }
            Fault::Suspend => suspend(time)?,
        }
        Ok(())
    }
}

/// Suspends this process for `time`.
fn suspend(time: Duration) -> std::io::Result<()> {
    let script = "kill -STOP $PPID; sleep $0; kill -CONT $PPID";
    let seconds = format!("{:.3}", time.as_secs_f64());
    Command::new("sh").args(["-c", script, &seconds]).status().map(drop)
}
