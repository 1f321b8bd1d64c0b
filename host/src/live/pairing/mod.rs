//! Combines the frames of several cameras to sets by timestamp.
//!
//! One camera leads: each of its frames asks for one set, so the panorama has its frame rate. Of each other camera, the
//! set has the nearest frame. The cameras may have any rates and phases: a set may repeat a frame, and frames that no
//! set needs are dropped.
//!
//! ```text
//! push(camera, frame):
//!     append the frame to the queue of the camera
//!     while the lead has a frame after the last set:
//!         for each camera:
//!             choose the nearest frame to the frame of the lead
//!             if a later frame may be nearer, and the camera is awaited: return
//!         if a camera has no frame that is near enough, and cameras may not fail: drop the frame of the lead
//!         otherwise: return the set, and drop all frames before the chosen ones
//! ```
//!
//! | a camera is | when | sets | frames |
//! |---|---|---|---|
//! | awaited | at the start, and from its next frame after any other state | wait for it | queue |
//! | late | its next frame lags behind the newest frame of any camera by more than the deadline | do not wait | queue |
//! | absent | after `set_present(false)` | do not wait | are dropped |
//! | returning | after `set_present(true)`, before its next frame | do not wait | |
//!
//! The lead is the reference camera if it is awaited, otherwise the first camera that is. Without a deadline, no camera
//! is late, and none may be absent.
//!
//! This module uses only the timestamps of frames, not their contents, and needs neither threads nor a clock. `queue`
//! has the frames of one camera and their frame time.

mod queue;

use std::time::Duration;

use super::counters::CameraCounters;
use queue::{Nearest, Queue};

/// A timestamp before the newest one of its camera by more than this shows that the clock was set back.
const STEP: Duration = Duration::from_secs(1);

/// How frames are combined.
#[derive(Clone, Debug, Default)]
pub(super) struct PairingOptions {
    /// The maximum number of frames of each camera that wait.
    pub(super) most: usize,
    /// The time by which the next frame of a camera may lag behind the newest frame. If it is set, sets may lack
    /// frames.
    pub(super) deadline: Option<Duration>,
    /// The camera that leads while it is awaited.
    pub(super) reference: usize,
}

/// One frame of every camera.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MatchedSet<T> {
    /// The timestamp of the lead's frame.
    pub(super) time: Duration,
    /// The frame of each camera, or `None` if the set lacks it.
    pub(super) frames: Vec<Option<T>>,
}

/// The result of a change of a [`Pairing`].
#[derive(Debug)]
pub(super) struct Outcome<T> {
    /// The completed sets in the order of time.
    pub(super) sets: Vec<MatchedSet<T>>,
    /// Frames that no set needs, with their cameras.
    pub(super) dropped: Vec<(usize, T)>,
}

impl<T> Outcome<T> {
    fn empty() -> Self {
        Self { sets: Vec::new(), dropped: Vec::new() }
    }
}

/// Whether a camera delivers frames, apart from delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attendance {
    Awaited,
    Returning,
    Absent,
}

#[derive(Debug)]
struct Camera<T> {
    attendance: Attendance,
    queue: Queue<T>,
}

/// The frames that wait for frames of other cameras.
#[derive(Debug)]
pub(super) struct Pairing<T> {
    options: PairingOptions,
    cameras: Vec<Camera<T>>,
    /// The time of the first frame.
    start: Option<Duration>,
    /// The time of the last set.
    last: Option<Duration>,
    /// The counters of the cameras' frames. The owner counts frames that never reach the pairing.
    pub(super) counters: Vec<CameraCounters>,
}

impl<T: Clone> Pairing<T> {
    /// Creates an empty pairing.
    pub(super) fn new(cameras: usize, options: PairingOptions) -> Self {
        let camera = |_| Camera { attendance: Attendance::Awaited, queue: Queue::new() };
        let counters = vec![CameraCounters::default(); cameras];
        let cameras = (0..cameras).map(camera).collect();
        Self { options, cameras, start: None, last: None, counters }
    }

    /// Adds a frame. Normally, it is later than all earlier frames of its camera. Otherwise:
    /// - If it is equal or earlier by up to a second, it is dropped.
    /// - If it is earlier by more than a second, the clock was set back. All waiting frames are dropped, and the pairing
    ///   starts again with this frame.
    pub(super) fn push(&mut self, camera: usize, time: Duration, frame: T) -> Outcome<T> {
        let mut out = Outcome::empty();
        let newest = self.cameras[camera].queue.newest;
        let counters = &mut self.counters[camera];
        counters.frames_in += 1;
        if self.cameras[camera].attendance == Attendance::Absent {
            counters.absent += 1;
            out.dropped.push((camera, frame));
            return out;
        }
        if newest.is_some_and(|newest| newest > time.saturating_add(STEP)) {
            out.dropped = self.clear();
        } else if newest >= Some(time) {
            counters.unmatched += 1;
            out.dropped.push((camera, frame));
            return out;
        }
        self.start.get_or_insert(time);
        let Camera { attendance, queue } = &mut self.cameras[camera];
        *attendance = Attendance::Awaited;
        queue.push(time, frame);
        // The sets that could need this frame were completed without it.
        let is_late = self.last >= Some(time.saturating_add(queue.frame_time() / 2));
        if is_late && let Some(frame) = queue.remove_newest() {
            self.counters[camera].late += 1;
            out.dropped.push((camera, frame));
        }
        self.complete(&mut out);
        while self.cameras[camera].queue.waiting() > self.options.most {
            // Cameras whose next frame is not later than the oldest one are given up.
            let first = self.cameras[camera].queue.first_after(None);
            let given_up = first.filter(|_| self.options.deadline.is_some());
            if !(given_up.is_some() && self.complete_next(given_up, &mut out)) {
                let oldest = self.cameras[camera].queue.remove_oldest();
                self.drop_unmatched(camera, oldest, &mut out);
            }
        }
        out
    }

    /// Sets whether a camera is present.
    pub(super) fn set_present(&mut self, camera: usize, present: bool) -> Outcome<T> {
        let mut out = Outcome::empty();
        let state = &mut self.cameras[camera];
        match (present, state.attendance) {
            (true, Attendance::Absent) => state.attendance = Attendance::Returning,
            (false, Attendance::Awaited | Attendance::Returning) => {
                state.attendance = Attendance::Absent;
                let frames = state.queue.clear();
                self.counters[camera].absent += frames.len() as u64;
                out.dropped.extend(frames.into_iter().map(|frame| (camera, frame)));
                // If the clock of this camera was ahead, all frames of the others would look late.
                let newest = self.newest();
                self.last = self.last.filter(|last| {
                    newest.is_some_and(|newest| *last <= newest.saturating_add(STEP))
                });
                self.start = self.start.min(newest);
                self.complete(&mut out);
            }
            _ => {}
        }
        out
    }

    /// Returns whether the newest frame of a camera waits for a set.
    pub(super) fn is_waiting(&self, camera: usize, time: Duration) -> bool {
        let queue = &self.cameras[camera].queue;
        queue.newest == Some(time) && queue.waiting() > 0
    }

    /// Removes and returns all waiting frames. Forgets the timestamps.
    pub(super) fn clear(&mut self) -> Vec<(usize, T)> {
        let mut out = Outcome::empty();
        for camera in 0..self.cameras.len() {
            let frames = self.cameras[camera].queue.clear();
            self.drop_unmatched(camera, frames, &mut out);
        }
        (self.start, self.last) = (None, None);
        out.dropped
    }

    /// Returns the time of the newest frame of any camera.
    fn newest(&self) -> Option<Duration> {
        self.cameras.iter().filter_map(|camera| camera.queue.newest).max()
    }

    /// Returns whether sets wait for a camera. A camera is late if its next frame is expected before the horizon, or
    /// not after `given_up`.
    fn is_awaited(&self, camera: usize, given_up: Option<Duration>) -> bool {
        let Camera { attendance, queue } = &self.cameras[camera];
        let next = match queue.newest {
            Some(newest) => Some(newest.saturating_add(queue.frame_time())),
            None => self.start,
        };
        let is_late = self.options.deadline.is_some_and(|deadline| {
            next < self.newest().and_then(|newest| newest.checked_sub(deadline))
        });
        let is_given_up = given_up.is_some() && next <= given_up;
        *attendance == Attendance::Awaited && !is_late && !is_given_up
    }

    /// Returns the lead and the time of the next set, if the lead has delivered a frame.
    fn next_set(&self, given_up: Option<Duration>) -> Option<(usize, Duration)> {
        let mut order = std::iter::once(self.options.reference).chain(0..self.cameras.len());
        let lead = order.find(|camera| self.is_awaited(*camera, given_up))?;
        self.cameras[lead].queue.first_after(self.last).map(|time| (lead, time))
    }

    fn complete(&mut self, out: &mut Outcome<T>) {
        while self.complete_next(None, out) {}
    }

    /// Completes or drops the next set, and returns true; or false, if a camera is awaited.
    fn complete_next(&mut self, given_up: Option<Duration>, out: &mut Outcome<T>) -> bool {
        let Some((lead, time)) = self.next_set(given_up) else { return false };
        let mut chosen = Vec::with_capacity(self.cameras.len());
        for camera in 0..self.cameras.len() {
            // No set needs the frames before the last one until this time.
            let passed = self.cameras[camera].queue.last_until(time).unwrap_or(0);
            self.drop_first(camera, passed, out);
            let is_final = !self.is_awaited(camera, given_up);
            chosen.push(self.cameras[camera].queue.nearest(time, is_final));
        }
        if chosen.contains(&Nearest::Unknown) {
            return false;
        }
        self.last = Some(time);
        if chosen.contains(&Nearest::None) && self.options.deadline.is_none() {
            // The frame of the lead is the first one.
            self.drop_first(lead, 1, out);
            return true;
        }
        let mut frames = Vec::with_capacity(chosen.len());
        for (camera, chosen) in chosen.into_iter().enumerate() {
            let Nearest::Frame(index) = chosen else {
                frames.push(None);
                continue;
            };
            self.drop_first(camera, index, out);
            let (frame, is_repeated) = self.cameras[camera].queue.take(0);
            let counters = &mut self.counters[camera];
            *if is_repeated { &mut counters.repeated } else { &mut counters.used } += 1;
            frames.push(Some(frame));
        }
        out.sets.push(MatchedSet { time, frames });
        true
    }

    /// Drops the first `count` frames of a camera.
    fn drop_first(&mut self, camera: usize, count: usize, out: &mut Outcome<T>) {
        let frames: Vec<_> = self.cameras[camera].queue.remove(count).collect();
        self.drop_unmatched(camera, frames, out);
    }

    fn drop_unmatched(
        &mut self,
        camera: usize,
        frames: impl IntoIterator<Item = T>,
        out: &mut Outcome<T>,
    ) {
        for frame in frames {
            self.counters[camera].unmatched += 1;
            out.dropped.push((camera, frame));
        }
    }
}

#[cfg(test)]
mod tests;
