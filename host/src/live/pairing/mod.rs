//! Pairs the frames of several cameras by timestamp: each set has one frame of every camera.
//!
//! The frames of one camera arrive in order, but one camera may be ahead of the others. Each frame of the *reference
//! camera* opens a set, so the panorama has the frame rate of this camera. A set waits until the frames of the other
//! cameras arrive, until one of them can no longer arrive, or until too many frames wait. This module uses only the
//! timestamps of frames, not their contents, and needs neither threads nor a clock.
//!
//! - *Equal rates* (within 2 %): each frame is in one set only. A frame must have only one possible set. Therefore the
//!   tolerance is limited to half the frame time, even if the options set a larger one. With a larger tolerance, one
//!   lost frame at the start would shift all later sets by one frame: each frame would be matched with the successor of
//!   its correct partner. The tolerance holds between each camera and the reference camera.
//! - *Other rates*: each set has the frame that is nearest to the reference frame, at most ⅝ of that camera's frame
//!   time away. One frame may be in several sets, and a frame that no set needs is surplus.
//! - *Absent cameras*: sets do not wait for them. If the reference camera is absent or late, the first camera that is
//!   not takes its place.
//! - *Late cameras*: without a deadline, sets wait, and a set that lacks a frame is dropped. With a deadline, sets are
//!   completed without the frames that are lost or later than the deadline, or before too many frames wait.
//! - *Clocks*: timestamps of all cameras are on one clock, or [`clock`] maps them to the host's clock.
//!
//! | file | contents |
//! |---|---|
//! | `sets` | the open sets and the choice of their frames |
//! | `camera` | the state and the counts of one camera |
//! | `frame_rate` | frame times and rates |
//! | `clock` | offset and drift of a camera's clock |

mod camera;
mod clock;
mod frame_rate;
mod sets;

use std::collections::VecDeque;
use std::time::Duration;

pub use camera::FrameCounts;

use camera::{Camera, Presence, Reason, Waiting};
use sets::{Nearest, OpenSet, Slot};

/// A timestamp before the newest one by more than this shows that the camera's clock was set back. A frame that is less
/// late than possible by more than this shows that the clock was set forward. [`clock`] notices smaller steps later.
const STEP: Duration = Duration::from_secs(1);

/// The clocks of the cameras' timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// All timestamps are on one clock.
    #[default]
    Common,
    /// Each camera has its own clock. Its offset and drift are estimated from the arrival times of its frames. A
    /// constant difference between the latencies of two cameras looks like an offset of their clocks.
    ///
    /// If a camera's clock is set, the estimate of this clock starts again:
    /// - After a step of more than a second: at the next frame.
    /// - After a smaller step: within 3 seconds, or 4 in the first 5 seconds of the camera; below 2 frames per second,
    ///   within 6 frames. Until then, frames of this camera may be dropped or matched with wrong frames. With a deadline,
    ///   if the clock was set forward, the frames of all other cameras may be late. Much jitter of the network can delay
    ///   this.
    ///
    /// A smaller step is noticed if it exceeds all of these: half of the tolerance of the matching (at most a quarter
    /// of the frame time), 1 ms, and six standard deviations of the least latency in half a second. Other steps enter
    /// the estimate within a minute, like drift. So does a step back at the moment of a lost frame, if it is not longer
    /// than the gap.
    ///
    /// Varying latencies, bursts of frames and stalled connections do not look like a step. The estimate mistakes two
    /// changes of the latency for a step: a fall after which the latency stays constant for 2 seconds, and growth while
    /// the intervals between the camera's timestamps are irregular.
    Estimate,
}

/// How frames are paired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PairingOptions {
    /// The maximum difference between the timestamps of a frame and the reference frame, for cameras of equal rates.
    pub(super) tolerance: Duration,
    /// The maximum number of frames of each camera that wait.
    pub(super) most: usize,
    /// The time by which a camera may lag behind the newest frame of the others.
    pub(super) deadline: Option<Duration>,
    /// The camera whose frames open sets.
    pub(super) reference: usize,
    pub(super) clocks: Clocks,
    /// Nanoseconds that are added to the timestamps of each camera; 0 for cameras that are not in the list.
    pub(super) offsets: Vec<i64>,
}

/// One frame of every camera that is present.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MatchedSet<T> {
    /// The latest timestamp of the frames that are in no other set.
    pub(super) time: Duration,
    /// One frame of each camera, or `None` if the set lacks it.
    pub(super) frames: Vec<Option<T>>,
}

/// The result of adding a frame to a [`Pairing`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome<T> {
    /// The completed sets in the order of time.
    pub(super) sets: Vec<MatchedSet<T>>,
    /// Frames that no set needs or that can no longer be matched, with their cameras. The caller must drop them.
    pub(super) alone: Vec<(usize, T)>,
    /// Whether the added frame waits for frames of other cameras.
    pub(super) waits: bool,
}

impl<T> Outcome<T> {
    fn empty() -> Self {
        Self { sets: Vec::new(), alone: Vec::new(), waits: false }
    }
}

/// The figures of one camera's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct CameraTiming {
    /// The median frame time in seconds, or 0 before the second frame.
    pub frame_time: f64,
    /// The time in seconds by which the camera's clock is ahead of the reference camera's clock.
    pub offset: f64,
    /// The drift of the camera's clock against the reference camera's clock, in parts per million. A positive value
    /// means that `offset` grows.
    pub drift_ppm: f64,
    /// Half the width of the 95 % interval of `offset` in seconds. It does not include constant latencies.
    pub uncertainty: f64,
    /// The median time in seconds from the reference frame to this camera's frame in the latest sets, after all
    /// corrections; 0 for a camera with another frame rate. For cameras that are triggered together, this is the
    /// difference between their latencies, and [`LiveOptions::offsets`](super::LiveOptions::offsets) can correct it.
    pub phase: f64,
    /// The number of frames for each outcome.
    pub frames: FrameCounts,
}

/// The frames that wait for frames of other cameras, and the clock and the frame time of each camera.
#[derive(Debug)]
pub(super) struct Pairing<T> {
    options: PairingOptions,
    cameras: Vec<Camera<T>>,
    /// The open sets in the order of time.
    open: VecDeque<OpenSet<T>>,
    /// The camera that opens sets now: the reference camera, or its deputy.
    lead: Option<usize>,
    /// The time of the first frame.
    start: Option<Duration>,
    /// The time of the last complete set, and the time of its reference frame.
    last: Option<Duration>,
    last_key: Option<Duration>,
    /// The time before which sets do not wait because too many frames wait.
    given_up: Option<Duration>,
}

impl<T: Clone> Pairing<T> {
    /// Creates an empty pairing.
    pub(super) fn new(cameras: usize, options: PairingOptions) -> Self {
        let mut cameras: Vec<_> = (0..cameras).map(|_| Camera::new()).collect();
        for (camera, &offset) in cameras.iter_mut().zip(&options.offsets) {
            camera.offset = offset;
        }
        let options = PairingOptions { most: options.most.max(1), ..options };
        let lead = cameras.len().checked_sub(1).map(|last| options.reference.min(last));
        let options = PairingOptions { reference: lead.unwrap_or(0), ..options };
        Self {
            options,
            cameras,
            open: VecDeque::new(),
            lead,
            start: None,
            last: None,
            last_key: None,
            given_up: None,
        }
    }

    /// Reports that a frame with the timestamp `stamp` has arrived at `arrival` on the host's clock. Call this before
    /// [`push`](Self::push) if the clocks are estimated, even for a frame that is not pushed.
    pub(super) fn observe(&mut self, camera: usize, stamp: Duration, arrival: Duration) {
        if self.options.clocks == Clocks::Estimate && camera < self.cameras.len() {
            let least_step = self.tolerance(camera).as_secs_f64() / 2.0;
            let state = &mut self.cameras[camera];
            let frame_time = state.frame_rate.nominal();
            state.has_stepped |= state.clock.add(stamp, arrival, frame_time, least_step);
        }
    }

    /// Adds a frame. Normally, `stamp` is later than the timestamps of all earlier frames of this camera. Otherwise:
    /// - If it is equal or earlier by up to a second, the new frame is dropped.
    /// - If it is earlier by more than a second, the clock was set back. If all cameras share this clock, all waiting
    ///   frames are dropped, and pairing restarts with the new frame. If the camera has its own clock, only the
    ///   estimate of this clock restarts.
    pub(super) fn push(&mut self, camera: usize, stamp: Duration, frame: T) -> Outcome<T> {
        let mut out = Outcome::empty();
        let Some(state) = self.cameras.get_mut(camera) else {
            out.alone.push((camera, frame));
            return out;
        };
        if state.presence == Presence::Absent {
            self.drop_frame(camera, frame, Reason::Absent, &mut out);
            return out;
        }
        if std::mem::take(&mut state.has_stepped) {
            self.forget_times(camera, &mut out);
        }
        let state = &mut self.cameras[camera];
        let before = state.stamp;
        let order = before.filter(|newest| stamp <= *newest).map(|newest| newest - stamp);
        if order.is_some_and(|back| back <= STEP) {
            self.drop_frame(camera, frame, Reason::Unmatched, &mut out);
            return out;
        }
        if order.is_some() {
            match self.options.clocks {
                Clocks::Common => out.alone = self.clear(),
                Clocks::Estimate => state.stamp = None,
            }
        }
        let state = &mut self.cameras[camera];
        state.presence = Presence::Present;
        if let Some(before) = state.stamp.replace(stamp) {
            state.frame_rate.add(stamp - before);
        }
        let time = state.correct(stamp, self.options.clocks == Clocks::Estimate);
        state.newest = Some(time);
        self.start.get_or_insert(time);
        self.elect(&mut out);
        self.compare_rates(camera, &mut out);
        self.place(camera, time, frame, &mut out);
        self.complete(&mut out);
        while self.waiting(camera) > self.options.most {
            self.make_room(camera, &mut out);
        }
        out.waits = self.holds(camera, time);
        out
    }

    /// Sets whether a camera is present. An absent camera's waiting frames are dropped, and so are frames that it
    /// delivers. When it is present again, sets wait for it from its next frame on.
    pub(super) fn set_present(&mut self, camera: usize, present: bool) -> Outcome<T> {
        let mut out = Outcome::empty();
        let Some(state) = self.cameras.get_mut(camera) else { return out };
        match (present, state.presence) {
            (true, Presence::Absent) => state.presence = Presence::Returning,
            (false, Presence::Present | Presence::Returning) => {
                state.presence = Presence::Absent;
                state.forget();
                self.drop_waiting(camera, usize::MAX, Reason::Absent, &mut out);
                let mut frames = Vec::new();
                for set in &mut self.open {
                    let slot = std::mem::replace(&mut set.slots[camera], Slot::Absent);
                    if let Slot::Frame(_, frame) = slot {
                        frames.push(frame);
                    }
                }
                for frame in frames {
                    self.drop_frame(camera, frame, Reason::Absent, &mut out);
                }
                self.forget_future(&mut out);
                self.drop_lost(&mut out);
                self.elect(&mut out);
                self.complete(&mut out);
            }
            _ => {}
        }
        out
    }

    /// Returns whether the maximum number of frames of this camera already waits, so that this frame would push out the
    /// oldest of them. A camera for which a set waits is never full. Sets are completed in order, so a camera with another
    /// rate only has to deliver frames until the nearest one to the first set is known. If it went on, it would push out
    /// frames that the next sets need.
    pub(super) fn is_full(&self, camera: usize, stamp: Duration) -> bool {
        let Some(state) = self.cameras.get(camera) else { return false };
        let in_order = state.stamp.is_none_or(|newest| stamp > newest);
        let awaits = |(index, set): (usize, &OpenSet<T>)| match set.slots[camera] {
            Slot::Awaited => true,
            Slot::Nearest => index == 0 && self.nearest(camera, set.time) == Nearest::Unknown,
            _ => false,
        };
        state.presence != Presence::Absent
            && in_order
            && self.waiting(camera) >= self.options.most
            && !self.open.iter().enumerate().any(awaits)
    }

    /// Removes and returns all waiting frames. Forgets the timestamps and the frame times.
    pub(super) fn clear(&mut self) -> Vec<(usize, T)> {
        let mut out = Outcome::empty();
        while !self.open.is_empty() {
            self.drop_set(0, &mut out);
        }
        for camera in 0..self.cameras.len() {
            self.drop_waiting(camera, usize::MAX, Reason::Unmatched, &mut out);
            self.cameras[camera].forget();
        }
        (self.start, self.last, self.last_key, self.given_up) = (None, None, None, None);
        out.alone.sort_by_key(|(camera, _)| *camera);
        out.alone
    }

    /// Forgets the corrected timestamps of a camera whose clock was set. Drops its waiting frames, and the open sets
    /// that have one, with the frames of the other cameras. If the clock was set forward, these times are in the
    /// future, where they would make the frames of all cameras look late.
    fn forget_times(&mut self, camera: usize, out: &mut Outcome<T>) {
        let has_frame = |set: &OpenSet<T>| matches!(set.slots[camera], Slot::Frame(..));
        while let Some(index) = self.open.iter().position(has_frame) {
            self.drop_set(index, out);
        }
        self.drop_waiting(camera, usize::MAX, Reason::Unmatched, out);
        self.cameras[camera].newest = None;
        (self.last_key, self.given_up) = (None, None);
    }

    /// Forgets the times that are more than [`STEP`] after the newest frames of all cameras, or all times if no camera has
    /// delivered a frame. They come from a camera that is absent now, whose clock was wrong or will start again. Until
    /// these times, all frames of the other cameras would look late.
    fn forget_future(&mut self, out: &mut Outcome<T>) {
        let newest = self.cameras.iter().filter_map(|camera| camera.newest).max();
        let latest = newest.map(|newest| newest.saturating_add(STEP));
        let is_future = |time: Duration| latest.is_none_or(|latest| time > latest);
        while let Some(index) = self.open.iter().position(|set| is_future(set.time)) {
            self.drop_set(index, out);
        }
        let late = self.cameras.iter_mut().map(|camera| &mut camera.late_until);
        for time in late.chain([&mut self.last, &mut self.last_key, &mut self.given_up]) {
            *time = time.filter(|time| !is_future(*time));
        }
        self.start = self.start.filter(|start| !is_future(*start)).or(newest);
    }

    /// Returns the figures of each camera.
    pub(super) fn timing(&self) -> Vec<CameraTiming> {
        let figures = |camera: &Camera<T>| {
            let stamp = camera.stamp.unwrap_or_default();
            let offset = camera.clock.offset_nanos(stamp).unwrap_or(0);
            (offset, camera.clock.drift(), camera.clock.uncertainty())
        };
        let reference = self.cameras.get(self.options.reference).map(figures);
        let timing = |(index, camera): (usize, &Camera<T>)| {
            let mut timing = CameraTiming {
                frame_time: camera.frame_rate.frame_time().unwrap_or_default().as_secs_f64(),
                phase: if camera.resampled.is_some() { 0.0 } else { camera.phase() },
                frames: camera.counts,
                ..CameraTiming::default()
            };
            if let Some(reference) = reference
                && index != self.options.reference
                && self.options.clocks == Clocks::Estimate
            {
                let own = figures(camera);
                timing.offset = (reference.0 - own.0) as f64 * 1e-9;
                timing.drift_ppm = (reference.1 - own.1) * 1e6;
                timing.uncertainty = reference.2.hypot(own.2);
            }
            timing
        };
        self.cameras.iter().enumerate().map(timing).collect()
    }

    /// Returns the maximum difference between the timestamps of a frame of this camera and its reference frame.
    fn tolerance(&self, camera: usize) -> Duration {
        let frame_rates = [Some(camera), self.lead].into_iter().flatten();
        let frame_time = frame_rates.filter_map(|i| self.cameras[i].frame_rate.frame_time()).min();
        let tolerance = self.options.tolerance;
        frame_time.map_or(tolerance, |time| tolerance.min(time / 2))
    }

    /// Returns the time before which sets do not wait, if there is a deadline.
    fn horizon(&self) -> Option<Duration> {
        let deadline = self.options.deadline?;
        let newest = self.cameras.iter().filter_map(|camera| camera.newest).max()?;
        newest.checked_sub(deadline).max(self.given_up)
    }

    /// Chooses the camera that opens sets: the first that is present and whose next frame is not late, the reference
    /// camera before all others. If it changes, its waiting frames open sets.
    fn elect(&mut self, out: &mut Outcome<T>) {
        let (start, horizon) = (self.start, self.horizon());
        let can_lead = |index: &usize| {
            let camera = &self.cameras[*index];
            // Between two frames, the last one of a slow camera becomes older than the deadline.
            let frame_time = camera.frame_rate.nominal().unwrap_or_default();
            let next = camera.newest.map(|newest| newest.saturating_add(frame_time)).or(start);
            camera.presence == Presence::Present
                && (horizon.is_none() || next.is_none() || next >= horizon)
        };
        let others = 0..self.cameras.len();
        let lead = std::iter::once(self.options.reference).chain(others).find(can_lead);
        if lead == self.lead {
            return;
        }
        self.lead = lead;
        let Some(lead) = lead else { return };
        self.compare_rates(lead, out);
        let waiting = std::mem::take(&mut self.cameras[lead].waiting);
        for frame in waiting {
            if frame.used {
                // An open set of the last lead may show it again.
                self.cameras[lead].waiting.push_back(frame);
            } else {
                self.place(lead, frame.time, frame.frame, out);
            }
        }
    }

    /// Compares the rate of a camera with the rate of the camera that opens sets; or, if it is this camera, the rates
    /// of all others with its rate. If a rate is not known, the camera keeps its state.
    fn compare_rates(&mut self, camera: usize, out: &mut Outcome<T>) {
        let Some(lead) = self.lead else { return };
        let Some((rate, error)) = self.cameras[lead].frame_rate.mean() else { return };
        for index in 0..self.cameras.len() {
            let other = &mut self.cameras[index];
            if index != lead
                && (camera == lead || camera == index)
                && let Some((mean, other_error)) = other.frame_rate.mean()
            {
                let before = other.resampled.is_some();
                // The gap between the two limits avoids changes back and forth.
                let most = if before { 0.015 * rate } else { 0.02 * rate + error + other_error };
                let differs = (mean - rate).abs() > most;
                // A mean that is too long for a `Duration` comes from timestamps that jump, and not from a camera's
                // rate.
                let mean = Duration::try_from_secs_f64(mean).ok();
                other.resampled = mean.filter(|_| differs);
                if other.resampled.is_some() != before {
                    self.convert(index, out);
                }
            }
        }
    }

    /// Returns the number of frames of a camera that wait and that no set has used.
    fn waiting(&self, camera: usize) -> usize {
        let open = self.open.iter().filter(|set| matches!(set.slots[camera], Slot::Frame(..)));
        open.count() + self.cameras[camera].waiting.iter().filter(|frame| !frame.used).count()
    }

    /// Returns whether the frame of a camera with this time waits.
    fn holds(&self, camera: usize, time: Duration) -> bool {
        let is_it = |slot: &Slot<T>| matches!(slot, Slot::Frame(at, _) if *at == time);
        self.open.iter().any(|set| is_it(&set.slots[camera]))
            || self.cameras[camera].waiting.iter().any(|frame| frame.time == time && !frame.used)
    }

    /// Makes room for a frame of a camera. With a deadline, the set of the oldest frame is completed without the frames
    /// that it lacks. Otherwise, the oldest frame is dropped, with the open set that has it.
    fn make_room(&mut self, camera: usize, out: &mut Outcome<T>) {
        let oldest = self.oldest(camera);
        if self.options.deadline.is_some() {
            let after = oldest.map(|time| time.saturating_add(Duration::from_nanos(1)));
            self.given_up = self.given_up.max(after);
            self.elect(out);
            self.complete(out);
            if self.oldest(camera) != oldest {
                return;
            }
        }
        let has_frame = |set: &OpenSet<T>| matches!(set.slots[camera], Slot::Frame(..));
        match self.open.iter().position(has_frame) {
            Some(index) => self.drop_set(index, out),
            None => {
                let waiting = &self.cameras[camera].waiting;
                let unused = waiting.iter().position(|frame| !frame.used);
                let count = unused.map_or(waiting.len(), |index| index + 1);
                self.drop_waiting(camera, count, Reason::Unmatched, out);
            }
        }
    }

    /// Returns the time of the oldest frame of a camera that waits and that no set has used. For a frame in an open
    /// set, it is the time of the set.
    fn oldest(&self, camera: usize) -> Option<Duration> {
        let has_frame = |set: &&OpenSet<T>| matches!(set.slots[camera], Slot::Frame(..));
        let open = self.open.iter().find(has_frame).map(|set| set.time);
        let unused = |frame: &&Waiting<T>| !frame.used;
        open.or_else(|| self.cameras[camera].waiting.iter().find(unused).map(|frame| frame.time))
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;
