//! The state of one camera, from the times of its frames and from the vitals of its pictures.
//!
//! All thresholds have hysteresis, so a camera near a threshold does not change its state back and forth: it returns
//! only after several good frames, and good is stricter than not bad. The functions take the time as an argument and
//! start no threads. `cameras` combines the states of all cameras.

use std::time::Duration;

use super::failure::{CameraHealth, CameraState, FailureOptions, StateCounts};
use crate::ops::vitals::Vitals;

/// The number of consecutive rejected frames after which a camera is gone.
const STRIKES: u32 = 3;

/// The minimum number of consecutive suspicious analyses before a camera counts as frozen or black.
const ANALYSES: u32 = 3;

/// Whether frames come in time. The order is from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Punctuality {
    InTime,
    Late,
    Gone,
}

/// Measures whether frames come in time: whether they arrive at all, or arrive early enough for their sets.
#[derive(Clone, Copy, Debug)]
struct Rhythm {
    /// The time of the last frame, or of the start.
    last: Duration,
    /// Whether there was a frame.
    started: bool,
    /// Whether the camera became gone after the last frame.
    ended: bool,
    /// The numbers of consecutive frames that followed within three quarters of `late` and of `gone`.
    steady: [u32; 2],
    punctuality: Punctuality,
}

impl Rhythm {
    fn new(now: Duration) -> Self {
        Self {
            last: now,
            started: false,
            ended: false,
            steady: [0; 2],
            punctuality: Punctuality::InTime,
        }
    }

    /// Processes a frame. The first frame is in time, whenever it comes.
    fn frame(&mut self, now: Duration, options: &FailureOptions) {
        if !self.started {
            *self = Self { started: true, ..Self::new(now) };
            return;
        }
        self.wait(now, options);
        let gap = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if std::mem::take(&mut self.ended) {
            return;
        }
        for (steady, limit) in self.steady.iter_mut().zip([options.late, options.gone]) {
            *steady = if gap <= limit.saturating_mul(3) / 4 { steady.saturating_add(1) } else { 0 };
        }
        // Frames in time for `late` are in time for `gone`, too, so this order covers a return from `Gone`.
        let [late, gone] = self.steady.map(|steady| steady >= options.settle);
        let reached = match (late, gone) {
            (true, _) => Punctuality::InTime,
            (_, true) => Punctuality::Late,
            _ => Punctuality::Gone,
        };
        self.punctuality = self.punctuality.min(reached);
    }

    /// Processes the time that has passed without a frame.
    fn wait(&mut self, now: Duration, options: &FailureOptions) {
        let silence = now.saturating_sub(self.last);
        if silence > options.gone {
            self.end();
        } else if silence > options.late {
            self.punctuality = self.punctuality.max(Punctuality::Late);
        }
    }

    /// Makes the camera gone until it delivers frames in time again.
    fn end(&mut self) {
        (self.punctuality, self.steady, self.ended) = (Punctuality::Gone, [0; 2], true);
    }
}

/// A suspicion that a camera's pictures are bad, which repeated analyses confirm or refute.
#[derive(Clone, Copy, Debug, Default)]
struct Suspicion {
    /// The time of the first of the consecutive bad pictures.
    since: Option<Duration>,
    bad: u32,
    good: u32,
    confirmed: bool,
}

impl Suspicion {
    /// Processes an analysis. Bad pictures for the time `after` confirm the suspicion, and `settle` consecutive good
    /// pictures then refute it. `since` is the time since which the picture is known to be bad.
    fn observe(
        &mut self,
        is_bad: bool,
        since: Duration,
        now: Duration,
        after: Duration,
        settle: u32,
    ) {
        if is_bad {
            let since = *self.since.get_or_insert(since);
            (self.bad, self.good) = (self.bad.saturating_add(1), 0);
            self.confirmed |= self.bad >= ANALYSES && now.saturating_sub(since) >= after;
            return;
        }
        self.good += 1;
        if !self.confirmed || self.good >= settle {
            *self = Self::default();
        }
    }
}

/// The last analysed picture of a camera.
#[derive(Clone, Copy, Debug)]
struct Analysed {
    vitals: Vitals,
    at: Duration,
}

/// The state of one camera.
#[derive(Clone, Debug)]
pub(super) struct CameraMonitor {
    /// The frames that arrive.
    arrivals: Rhythm,
    /// The sets of frames that contain a frame of the camera.
    sets: Rhythm,
    /// Whether a set has ever contained a frame of the camera.
    has_picture: bool,
    connected: bool,
    analysed: Option<Analysed>,
    frozen: Suspicion,
    black: Suspicion,
    state: CameraState,
    since: Duration,
    entered: StateCounts,
    missing: u64,
    rejected: u64,
    strikes: u32,
}

impl CameraMonitor {
    /// Creates the monitor of a camera that is expected to deliver its first frame within [`FailureOptions::late`].
    pub(super) fn new(now: Duration) -> Self {
        Self {
            arrivals: Rhythm::new(now),
            sets: Rhythm::new(now),
            has_picture: false,
            connected: true,
            analysed: None,
            frozen: Suspicion::default(),
            black: Suspicion::default(),
            state: CameraState::Live,
            since: now,
            entered: StateCounts::default(),
            missing: 0,
            rejected: 0,
            strikes: 0,
        }
    }

    /// Processes the arrival of a frame that the stitcher accepts.
    pub(super) fn arrived(&mut self, now: Duration, options: &FailureOptions) {
        self.strikes = 0;
        if self.connected {
            self.arrivals.frame(now, options);
        }
    }

    /// Processes a frame that the stitcher or the device rejects.
    pub(super) fn rejected(&mut self) {
        self.rejected += 1;
        self.strikes = self.strikes.saturating_add(1);
        if self.strikes >= STRIKES {
            self.end();
        }
    }

    /// Processes a set of frames. `has_frame` is whether it contains a frame of this camera.
    pub(super) fn set(&mut self, now: Duration, has_frame: bool, options: &FailureOptions) {
        self.missing += u64::from(!has_frame);
        self.has_picture |= has_frame;
        if has_frame && self.connected {
            self.sets.frame(now, options);
        }
    }

    /// Connects or disconnects the camera. A disconnected camera is gone until it is connected and delivers frames.
    pub(super) fn connect(&mut self, connected: bool) {
        self.connected = connected;
        if !connected {
            self.end();
        }
    }

    fn end(&mut self) {
        self.arrivals.end();
        self.sets.end();
    }

    /// Processes the analysis of a new picture of the camera.
    pub(super) fn analysed(&mut self, now: Duration, vitals: Vitals, options: &FailureOptions) {
        let last = self.analysed.replace(Analysed { vitals, at: now });
        let (equal, since) = match last {
            Some(last) => (last.vitals == vitals, last.at),
            None => (false, now),
        };
        self.frozen.observe(equal, since, now, options.frozen, options.settle);
        let scale = if self.black.confirmed { 1.5 } else { 1.0 };
        let is_flat = vitals.variance().sqrt() <= scale * options.deviation;
        self.black.observe(is_flat, now, now, options.black, options.settle);
    }

    /// Updates the state to the time `now`. Returns the new state if it has changed.
    pub(super) fn update(
        &mut self,
        now: Duration,
        options: &FailureOptions,
    ) -> Option<CameraState> {
        self.arrivals.wait(now, options);
        self.sets.wait(now, options);
        if self.sets.punctuality == Punctuality::Gone {
            (self.analysed, self.frozen, self.black) = Default::default();
        }
        let state = match self.sets.punctuality {
            Punctuality::Gone => CameraState::Gone,
            Punctuality::Late => CameraState::Late,
            Punctuality::InTime if self.black.confirmed => CameraState::Black,
            Punctuality::InTime if self.frozen.confirmed => CameraState::Frozen,
            Punctuality::InTime => CameraState::Live,
        };
        if state == self.state {
            return None;
        }
        (self.state, self.since) = (state, now);
        *self.entered.at(state) += 1;
        Some(state)
    }

    /// Returns whether sets should wait for a frame of this camera, because its frames arrive. This does not depend on
    /// the camera's share of the sets: a camera whose frames were too late for some sets still has to be waited for.
    pub(super) fn delivers(&self) -> bool {
        self.arrivals.punctuality != Punctuality::Gone
    }

    /// Returns whether the camera has delivered a picture.
    pub(super) fn has_picture(&self) -> bool {
        self.has_picture
    }

    /// Returns whether the camera is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.sets.punctuality == Punctuality::Gone
    }

    /// Returns whether the camera must leave the panorama because of its pictures.
    pub(super) fn has_bad_pictures(&self, options: &FailureOptions) -> bool {
        (self.black.confirmed && options.act_on_black)
            || (self.frozen.confirmed && options.act_on_frozen)
    }

    /// Returns whether the camera would leave the panorama if its latest pictures went on.
    pub(super) fn may_be_black(&self, options: &FailureOptions) -> bool {
        self.black.since.is_some() && options.act_on_black
    }

    /// Returns the health figures, without presence and cover.
    pub(super) fn health(&self) -> CameraHealth {
        let (mean, variance) =
            self.analysed.map_or((0.0, 0.0), |last| (last.vitals.mean(), last.vitals.variance()));
        CameraHealth {
            state: self.state,
            since: self.since.as_secs_f64(),
            entered: self.entered,
            missing: self.missing,
            rejected: self.rejected,
            strikes: self.strikes,
            mean,
            deviation: variance.sqrt(),
            ..CameraHealth::default()
        }
    }
}
