//! The frames of one camera that the next sets may need.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of recent intervals between frames whose median is the frame time.
const INTERVALS: usize = 9;

/// The frame time before the second frame: 30 frames per second.
const FIRST: Duration = Duration::from_micros(33_333);

#[derive(Debug)]
struct Waiting<T> {
    time: Duration,
    frame: T,
    /// Whether a set has this frame. It stays until a later frame is chosen, because the next set may repeat it.
    used: bool,
}

/// Which frame of a camera is nearest to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearest {
    /// The index of the frame.
    Frame(usize),
    /// A frame that has not arrived yet may be nearer.
    Unknown,
    /// No frame is near enough.
    None,
}

/// The frames of one camera in the order of time: at most one that a set has used, then those that wait.
#[derive(Debug)]
pub(super) struct Queue<T> {
    frames: VecDeque<Waiting<T>>,
    /// The timestamp of the newest frame.
    pub(super) newest: Option<Duration>,
    intervals: VecDeque<Duration>,
}

impl<T: Clone> Queue<T> {
    pub(super) fn new() -> Self {
        let intervals = VecDeque::with_capacity(INTERVALS);
        Self { frames: VecDeque::new(), newest: None, intervals }
    }

    /// Adds a frame that is later than all before.
    pub(super) fn push(&mut self, time: Duration, frame: T) {
        if let Some(newest) = self.newest.replace(time) {
            if self.intervals.len() == INTERVALS {
                self.intervals.pop_front();
            }
            self.intervals.push_back(time - newest);
        }
        self.frames.push_back(Waiting { time, frame, used: false });
    }

    /// Returns the lower median of the latest intervals between frames. A lost frame and a burst do not change it.
    pub(super) fn frame_time(&self) -> Duration {
        let mut sorted: Vec<_> = self.intervals.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(FIRST)
    }

    /// Returns the number of frames that no set has used.
    pub(super) fn waiting(&self) -> usize {
        self.frames.iter().filter(|frame| !frame.used).count()
    }

    /// Returns the time of the oldest frame after `last` that no set has used.
    pub(super) fn first_after(&self, last: Option<Duration>) -> Option<Duration> {
        let is_next = |frame: &&Waiting<T>| !frame.used && Some(frame.time) > last;
        self.frames.iter().find(is_next).map(|frame| frame.time)
    }

    /// Returns the frame that is nearest to `time`, at most ⅝ of a frame time away: half a frame time, and an eighth
    /// for jitter. If `is_final`, no later frame is expected.
    pub(super) fn nearest(&self, time: Duration, is_final: bool) -> Nearest {
        let frame_time = self.frame_time();
        let apart = |index: usize| self.frames[index].time.abs_diff(time);
        let nearest = (0..self.frames.len()).min_by_key(|index| apart(*index));
        let is_known = is_final
            || self.newest >= Some(time)
            || nearest.is_some_and(|index| apart(index) <= frame_time / 2);
        match nearest {
            _ if !is_known => Nearest::Unknown,
            Some(index) if apart(index) <= frame_time / 8 * 5 => Nearest::Frame(index),
            _ => Nearest::None,
        }
    }

    /// Returns a copy of a frame, and whether an earlier set has used it.
    pub(super) fn take(&mut self, index: usize) -> (T, bool) {
        let Waiting { frame, used, .. } = &mut self.frames[index];
        (frame.clone(), std::mem::replace(used, true))
    }

    /// Returns the index of the last frame that is not later than `time`.
    pub(super) fn last_until(&self, time: Duration) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.time <= time)
    }

    /// Removes the first `count` frames. Returns those that no set has used.
    pub(super) fn remove(&mut self, count: usize) -> impl Iterator<Item = T> {
        let removed = self.frames.drain(..count.min(self.frames.len()));
        removed.filter(|frame| !frame.used).map(|frame| frame.frame)
    }

    /// Removes the frames up to the oldest one that no set has used, and returns this frame.
    pub(super) fn remove_oldest(&mut self) -> Option<T> {
        let oldest = self.frames.iter().position(|frame| !frame.used)?;
        self.remove(oldest + 1).next()
    }

    /// Removes the newest frame, but remembers its time.
    pub(super) fn remove_newest(&mut self) -> Option<T> {
        self.frames.pop_back().map(|newest| newest.frame)
    }

    /// Removes all frames and forgets their times. Returns the frames that no set has used.
    pub(super) fn clear(&mut self) -> Vec<T> {
        let removed = self.remove(usize::MAX).collect();
        *self = Self::new();
        removed
    }
}
