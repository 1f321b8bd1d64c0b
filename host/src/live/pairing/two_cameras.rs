//! The pairing of two cameras from which [`Pairing`](super::Pairing) was generalised. Tests compare the two.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of recent intervals between frames. The frame time is the median of these intervals.
const INTERVALS: usize = 9;

/// Measures the frame time of a camera.
#[derive(Clone, Copy, Debug, Default)]
struct FrameTime {
    /// A ring buffer of the latest intervals between frames.
    intervals: [Duration; INTERVALS],
    count: usize,
}

impl FrameTime {
    fn add(&mut self, interval: Duration) {
        self.intervals[self.count % INTERVALS] = interval;
        self.count += 1;
    }

    /// Returns the lower median of the latest intervals between frames, or `None` before the second frame.
    fn frame_time(&self) -> Option<Duration> {
        let mut sorted = self.intervals;
        let known = &mut sorted[..self.count.min(INTERVALS)];
        known.sort_unstable();
        known.get(known.len().saturating_sub(1) / 2).copied()
    }
}

/// The frames that wait for a partner, and the newest timestamp and the frame time of each camera.
#[derive(Debug)]
pub(super) struct TwoCameras<T> {
    waiting: [VecDeque<(Duration, T)>; 2],
    newest: [Option<Duration>; 2],
    frame_rate: [FrameTime; 2],
    tolerance: Duration,
    most: usize,
}

/// The result of adding a frame to a [`TwoCameras`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PairOutcome<T> {
    /// The completed pair, if any: the left frame, the right frame, and the later of their timestamps.
    pub(super) pair: Option<(T, T, Duration)>,
    /// Frames whose partner can no longer arrive, so the caller must drop them.
    pub(super) alone: Vec<(usize, T)>,
    /// Whether the added frame waits for a partner.
    pub(super) waits: bool,
}

impl<T> TwoCameras<T> {
    /// Creates an empty pairing. The timestamps of a pair differ by at most `tolerance`, and by at most half a frame
    /// time. At most `most` frames of each camera wait for a partner.
    pub(super) fn new(tolerance: Duration, most: usize) -> Self {
        Self {
            waiting: [VecDeque::new(), VecDeque::new()],
            newest: [None; 2],
            frame_rate: Default::default(),
            tolerance,
            most: most.max(1),
        }
    }

    /// Adds a frame. Normally, `time` is later than the timestamps of all earlier frames of this camera. Otherwise:
    /// - If it is equal or earlier by up to a second, the new frame gets no partner.
    /// - If it is earlier by more than a second, the clock of the camera was set back. All waiting frames get no
    ///   partner, and pairing restarts with the new frame.
    pub(super) fn push(&mut self, camera: usize, time: Duration, frame: T) -> PairOutcome<T> {
        let mut alone = Vec::new();
        if let Some(newest) = self.newest[camera]
            && time <= newest
        {
            if newest - time <= Duration::from_secs(1) {
                return PairOutcome { pair: None, alone: vec![(camera, frame)], waits: false };
            }
            alone = self.clear();
        }
        if let Some(before) = self.newest[camera].replace(time) {
            self.frame_rate[camera].add(time - before);
        }
        let tolerance = self.tolerance();
        let other = 1 - camera;
        // A waiting frame that is too early for this frame is too early for all later frames of this camera, too.
        let queue = &mut self.waiting[other];
        while let Some((early, _)) = queue.front()
            && early.saturating_add(tolerance) < time
        {
            alone.extend(queue.pop_front().map(|(_, frame)| (other, frame)));
        }
        let nearest = queue
            .iter()
            .enumerate()
            .map(|(i, (at, _))| (at.abs_diff(time), i))
            .filter(|(apart, _)| *apart <= tolerance)
            .min();
        if let Some((_, i)) = nearest {
            alone.extend(queue.drain(..i).map(|(_, frame)| (other, frame)));
            if let Some((at, partner)) = queue.pop_front() {
                // The waiting frames of this camera are earlier than this frame. Their partners can no longer arrive,
                // because the other camera has already delivered the partner of this later frame.
                let passed = std::mem::take(&mut self.waiting[camera]);
                alone.extend(passed.into_iter().map(|(_, frame)| (camera, frame)));
                let (left, right) = match camera {
                    0 => (frame, partner),
                    _ => (partner, frame),
                };
                let pair = Some((left, right, at.max(time)));
                return PairOutcome { pair, alone, waits: false };
            }
        }
        // The other camera has already delivered a later frame, so the partner of this frame can no longer arrive.
        if self.newest[other].is_some_and(|newest| newest > time.saturating_add(tolerance)) {
            alone.push((camera, frame));
            return PairOutcome { pair: None, alone, waits: false };
        }
        let queue = &mut self.waiting[camera];
        queue.push_back((time, frame));
        if queue.len() > self.most {
            alone.extend(queue.pop_front().map(|(_, frame)| (camera, frame)));
        }
        PairOutcome { pair: None, alone, waits: true }
    }

    /// Returns whether the maximum number of frames of this camera already waits, so that this frame would push out the
    /// oldest of them.
    pub(super) fn is_full(&self, camera: usize, time: Duration) -> bool {
        let in_order = self.newest[camera].is_none_or(|newest| time > newest);
        in_order && self.waiting[camera].len() >= self.most
    }

    /// Returns the maximum difference between the timestamps of a pair.
    fn tolerance(&self) -> Duration {
        let frame_time = self.frame_rate.iter().filter_map(FrameTime::frame_time).min();
        frame_time.map_or(self.tolerance, |time| self.tolerance.min(time / 2))
    }

    /// Removes and returns all waiting frames. Forgets the timestamps and the frame times.
    pub(super) fn clear(&mut self) -> Vec<(usize, T)> {
        (self.newest, self.frame_rate) = Default::default();
        let mut all = Vec::new();
        for camera in 0..2 {
            all.extend(self.waiting[camera].drain(..).map(|(_, frame)| (camera, frame)));
        }
        all
    }
}
