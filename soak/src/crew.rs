//! Three or more cameras, each with a clock of its own: the timestamps of each camera begin at a different time, and
//! the second camera's clock drifts. Their frames arrive with jitter. The last camera stops once per cycle, and all
//! cameras pause at the end of each cycle. Checks that the stitcher estimates the clocks and reports the stops.

use std::time::Duration;

use panoweave::geometry::rig::{Rig, RigError};
use panoweave::live::{CameraHealth, CameraTiming, Clocks, FailureOptions, LiveOptions};
use serde::Serialize;

use crate::phase::Plan;
use crate::record::Record;

/// The time in seconds by which the clock of each camera is ahead of the clock of the camera before it.
const STAGGER: f64 = 1.7;

/// The maximum error of an estimated offset in seconds.
const OFFSET_ERROR: f64 = 1e-3;

/// The maximum error of an estimated drift, as a fraction.
const DRIFT_ERROR: f64 = 20e-6;

/// The cameras of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    pub(crate) cameras: usize,
    /// The number of seconds that the second camera's clock gains in a second.
    pub(crate) drift: f64,
}

/// The clocks and the states of the cameras at one time, while all of them deliver frames.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Roster {
    /// The time since the start of the run, in seconds.
    pub(crate) at: f64,
    pub(crate) timing: Vec<CameraTiming>,
    pub(crate) health: Vec<CameraHealth>,
    /// The number of reported changes of each camera's state to gone, and of changes that were lost.
    pub(crate) gone: Vec<u64>,
    pub(crate) lost: u64,
}

impl Crew {
    /// Returns a rig of all cameras: a row on a cylinder, or a full circle if the row would be longer.
    pub(crate) fn rig(&self) -> Result<Rig, RigError> {
        use std::fmt::Write as _;
        let step = f64::min(45.0, 360.0 / self.cameras as f64);
        let fov = f64::min(360.0, step * (self.cameras - 1) as f64 + 59.0);
        let width = (fov / 194.0 * 11_240.0 / 2.0) as u32 * 2;
        let mut text = format!(
            "[panorama]\nprojection = \"cylindrical\"\nwidth = {width}\nheight = 1860\nfov = {fov}\n"
        );
        for camera in 0..self.cameras {
            let yaw = step * (camera as f64 - 0.5 * (self.cameras - 1) as f64);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "[[camera]]\nname = \"{camera}\"\nsize = [3840, 2160]\nlens = \"pinhole\"\nmatrix = {{ fx = 3326.0, \
                 fy = 3326.0, cx = 1919.5, cy = 1079.5 }}\nyaw = {yaw}\n"
            );
        }
        Rig::parse(&text, "the rig of the soak")
    }

    /// Returns `options` with estimated clocks and with states of the cameras.
    pub(crate) fn options(options: LiveOptions) -> LiveOptions {
        let failure = Some(FailureOptions::default());
        LiveOptions { clocks: Clocks::Estimate, failure, ..options }
    }

    /// Returns the timestamp that a camera gives to a frame that it captures at `time`.
    pub(crate) fn stamp(&self, camera: usize, time: Duration) -> Duration {
        time.mul_f64(1.0 + self.drift_of(camera)) + Duration::from_secs_f64(self.offset_of(camera))
    }

    fn offset_of(&self, camera: usize) -> f64 {
        STAGGER * camera as f64
    }

    fn drift_of(&self, camera: usize) -> f64 {
        if camera == 1 { self.drift } else { 0.0 }
    }

    /// Returns a fault for each clock that was estimated wrongly after the warm-up, and for each stop of a camera that
    /// was not reported.
    pub(crate) fn faults(&self, record: &Record, plan: Plan) -> Vec<String> {
        let rosters: Vec<_> = record.rows.iter().map(|row| &row.roster).collect();
        let mut faults = Vec::new();
        for roster in rosters.iter().skip(plan.warm_up) {
            if roster.timing.len() != self.cameras || roster.health.len() != self.cameras {
                faults
                    .push(format!("after {:.0} s, cameras are missing from the report", roster.at));
            }
            for (camera, timing) in roster.timing.iter().enumerate() {
                let truth = self.offset_of(camera) + self.drift_of(camera) * roster.at;
                let (off, drift) = (timing.offset - truth, timing.drift_ppm * 1e-6);
                let off_drift = drift - self.drift_of(camera);
                if !(off.abs() <= OFFSET_ERROR && off_drift.abs() <= DRIFT_ERROR) {
                    faults.push(format!(
                        "after {:.0} s, the clock of camera {camera} is estimated wrongly by {:.3} ms and {:.1} ppm",
                        roster.at,
                        off * 1e3,
                        off_drift * 1e6
                    ));
                }
            }
        }
        // A stop takes 15 % of a cycle, and a camera is gone after a second. In short cycles, it may not be noticed.
        let stop = plan.cycle.mul_f64(0.15);
        if stop >= Duration::from_secs(3)
            && let Some(last) = rosters.last()
        {
            for (camera, (health, reported)) in last.health.iter().zip(&last.gone).enumerate() {
                let entered = health.entered.gone;
                // The pause at the end of the last cycle is not over when the roster is taken.
                let pauses = rosters.len() as u64 - 1;
                let stops = if camera + 1 == self.cameras { rosters.len() as u64 } else { 0 };
                if entered < pauses + stops {
                    faults.push(format!(
                        "camera {camera} paused {pauses} and stopped {stops} times, but was gone only {entered} times"
                    ));
                }
                if last.lost == 0 && entered != *reported {
                    faults.push(format!(
                        "camera {camera} was gone {entered} times, but {reported} events report it"
                    ));
                }
            }
        }
        faults
    }
}

impl Roster {
    /// Formats the errors of the clocks in milliseconds, and the number of times that each camera was gone.
    pub(crate) fn text(&self, crew: &Crew) -> String {
        let clocks = self.timing.iter().enumerate().map(|(camera, timing)| {
            let truth = crew.offset_of(camera) + crew.drift_of(camera) * self.at;
            format!("{:+.3} ms {:+.1} ppm", (timing.offset - truth) * 1e3, timing.drift_ppm)
        });
        let clocks: Vec<_> = clocks.collect();
        format!("       clocks {}; gone {:?}", clocks.join(", "), self.gone)
    }
}
