//! Pairs the frames of two cameras by timestamp, within a tolerance.
//!
//! The frames of one camera arrive in order, but one camera may be ahead of the other. A frame waits until its partner
//! arrives, until its partner can no longer arrive, or until too many frames wait. This module uses only the
//! timestamps of frames, not their contents.
//!
//! A frame must have only one possible partner. Therefore the tolerance is limited to half the frame time, even if the
//! options set a larger one. With a larger tolerance, one lost frame at the start would shift all later pairs by one
//! frame: each frame would be paired with the successor of its correct partner. The frame time is the median of recent
//! intervals, so that one lost frame or a burst of two frames does not change it.

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
pub(super) struct Pairing<T> {
    waiting: [VecDeque<(Duration, T)>; 2],
    newest: [Option<Duration>; 2],
    rhythm: [FrameTime; 2],
    tolerance: Duration,
    most: usize,
}

/// The result of adding a frame to a [`Pairing`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome<T> {
    /// The completed pair, if any: the left frame, the right frame, and the later of their timestamps.
    pub(super) pair: Option<(T, T, Duration)>,
    /// Frames whose partner can no longer arrive, so the caller must drop them.
    pub(super) alone: Vec<(usize, T)>,
    /// Whether the added frame waits for a partner.
    pub(super) waits: bool,
}

impl<T> Pairing<T> {
    /// Creates an empty pairing. The timestamps of a pair differ by at most `tolerance`, and by at most half a frame
    /// time. At most `most` frames of each camera wait for a partner.
    pub(super) fn new(tolerance: Duration, most: usize) -> Self {
        Self {
            waiting: [VecDeque::new(), VecDeque::new()],
            newest: [None; 2],
            rhythm: Default::default(),
            tolerance,
            most: most.max(1),
        }
    }

    /// Adds a frame. Normally, `time` is later than the timestamps of all earlier frames of this camera. Otherwise:
    /// - If it is equal or earlier by up to a second, the new frame gets no partner.
    /// - If it is earlier by more than a second, the clock of the camera was set back. All waiting frames get no
    ///   partner, and pairing restarts with the new frame.
    pub(super) fn push(&mut self, camera: usize, time: Duration, frame: T) -> Outcome<T> {
        let mut alone = Vec::new();
        if let Some(newest) = self.newest[camera]
            && time <= newest
        {
            if newest - time <= Duration::from_secs(1) {
                return Outcome { pair: None, alone: vec![(camera, frame)], waits: false };
            }
            alone = self.clear();
        }
        if let Some(before) = self.newest[camera].replace(time) {
            self.rhythm[camera].add(time - before);
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
                let (left, right) = if camera == 0 { (frame, partner) } else { (partner, frame) };
                let pair = Some((left, right, at.max(time)));
                return Outcome { pair, alone, waits: false };
            }
        }
        // The other camera has already delivered a later frame, so the partner of this frame can no longer arrive.
        if self.newest[other].is_some_and(|newest| newest > time.saturating_add(tolerance)) {
            alone.push((camera, frame));
            return Outcome { pair: None, alone, waits: false };
        }
        let queue = &mut self.waiting[camera];
        queue.push_back((time, frame));
        if queue.len() > self.most {
            alone.extend(queue.pop_front().map(|(_, frame)| (camera, frame)));
        }
        Outcome { pair: None, alone, waits: true }
    }

    /// Returns whether the maximum number of frames of this camera already waits, so that this frame would push out the
    /// oldest of them.
    pub(super) fn is_full(&self, camera: usize, time: Duration) -> bool {
        let in_order = self.newest[camera].is_none_or(|newest| time > newest);
        in_order && self.waiting[camera].len() >= self.most
    }

    /// Returns the maximum difference between the timestamps of a pair.
    fn tolerance(&self) -> Duration {
        let frame_time = self.rhythm.iter().filter_map(FrameTime::frame_time).min();
        frame_time.map_or(self.tolerance, |time| self.tolerance.min(time / 2))
    }

    /// Removes and returns all waiting frames. Forgets the timestamps and the frame times.
    pub(super) fn clear(&mut self) -> Vec<(usize, T)> {
        (self.newest, self.rhythm) = Default::default();
        let mut all = Vec::new();
        for camera in 0..2 {
            all.extend(self.waiting[camera].drain(..).map(|(_, frame)| (camera, frame)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(non_upper_case_globals, reason = "the names read like cameras")]
    const Left: usize = 0;
    #[expect(non_upper_case_globals, reason = "the names read like cameras")]
    const Right: usize = 1;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    type Lone = Vec<(usize, u64)>;

    /// Adds frames in the given order to a pairing. Each frame carries its timestamp in milliseconds as its value.
    /// Returns the pairs and the unpaired frames.
    fn run(frames: &[(usize, u64)], tolerance: u64) -> (Vec<(u64, u64)>, Lone) {
        let mut pairing = Pairing::new(MS(tolerance), 3);
        let (mut pairs, mut alone) = (Vec::new(), Vec::new());
        for &(camera, time) in frames {
            let outcome = pairing.push(camera, MS(time), time);
            pairs.extend(outcome.pair.map(|(left, right, _)| (left, right)));
            alone.extend(outcome.alone);
        }
        alone.extend(pairing.clear());
        (pairs, alone)
    }

    #[test]
    fn frames_within_the_tolerance_pair() {
        let (pairs, alone) = run(&[(Left, 0), (Right, 5), (Right, 38), (Left, 33)], 10);
        assert_eq!((pairs, alone), (vec![(0, 5), (33, 38)], vec![]));
    }

    #[test]
    fn the_partner_of_a_lost_frame_stays_unpaired() {
        let (pairs, alone) =
            run(&[(Left, 0), (Left, 33), (Right, 34), (Left, 66), (Right, 67)], 10);
        assert_eq!((pairs, alone), (vec![(33, 34), (66, 67)], vec![(Left, 0)]));
    }

    #[test]
    fn the_nearest_of_several_frames_is_the_partner() {
        let (pairs, alone) = run(&[(Left, 0), (Left, 8), (Left, 16), (Right, 9)], 10);
        assert_eq!((pairs, alone), (vec![(8, 9)], vec![(Left, 0), (Left, 16)]));
    }

    /// Two cameras run at 120 frames/s with a tolerance of 16 ms, almost two frame times. The first frame of the right
    /// camera is lost. Only the first pair is wrong; all later pairs have equal timestamps.
    #[test]
    fn a_lost_frame_does_not_shift_later_pairs() {
        let mut frames = vec![(Left, 0)];
        for i in 1..100 {
            frames.extend([(Right, 25 * i / 3), (Left, 25 * i / 3)]);
        }
        let (pairs, alone) = run(&frames, 16);
        // The first pair is wrong, because the frame time is not known yet.
        assert_eq!((pairs[0], alone.len()), ((0, 8), 1));
        assert!(pairs[1..].iter().all(|(left, right)| left == right), "{pairs:?}");
        assert_eq!(pairs.len(), 99);
    }

    /// Two cameras run at 120 frames/s with jitter, a pause of 400 ms, lost frames of both cameras, and bursts of two
    /// frames. The timestamps of each pair differ by at most 1 ms, the interval of a burst, and at least 182 of the 185
    /// possible pairs are found.
    #[test]
    fn lost_frames_and_bursts_do_not_change_the_frame_time() {
        let mut frames = Vec::new();
        for i in 0..200_u64 {
            let time = 1000 * i / 120 + u64::from(i > 120) * 400 + (i * 7 % 3);
            for camera in [Right, Left] {
                if (camera == Right && i % 20 == 10) || (camera == Left && i % 33 == 4) {
                    continue;
                }
                frames.push((camera, time));
                if camera == Left && i % 20 == 15 {
                    frames.push((camera, time + 1));
                }
            }
        }
        let (pairs, _) = run(&frames, 16);
        assert!(pairs.iter().all(|(left, right)| left.abs_diff(*right) <= 1), "{pairs:?}");
        assert!(pairs.len() >= 182, "{}", pairs.len());
    }

    #[test]
    fn frames_that_the_other_camera_has_passed_do_not_wait() {
        let mut pairing = Pairing::new(MS(10), 3);
        for time in [100, 120, 140] {
            assert!(!pairing.is_full(Left, MS(time)));
            assert_eq!(pairing.push(Left, MS(time), time).alone, []);
        }
        assert!(pairing.is_full(Left, MS(160)) && !pairing.is_full(Left, MS(140)));
        for time in [0, 20, 40, 60, 80] {
            assert!(!pairing.is_full(Right, MS(time)));
            assert_eq!(pairing.push(Right, MS(time), time).alone, [(Right, time)]);
        }
        assert_eq!(pairing.push(Right, MS(101), 101).pair, Some((100, 101, MS(101))));
        assert!(!pairing.is_full(Left, MS(160)));
    }

    #[test]
    fn few_frames_wait_if_the_other_camera_is_missing() {
        let mut pairing = Pairing::new(MS(10), 3);
        let lone: usize = (0..100).map(|i| pairing.push(Left, MS(33 * i), i).alone.len()).sum();
        assert_eq!((lone, pairing.waiting[0].len()), (97, 3));
    }

    #[test]
    fn pairing_restarts_after_a_clock_was_set_back() {
        let (pairs, alone) = run(&[(Left, 10_000), (Right, 10_000), (Left, 5), (Right, 6)], 10);
        assert_eq!((pairs, alone), (vec![(10_000, 10_000), (5, 6)], vec![]));
        let (pairs, alone) = run(&[(Left, 100), (Left, 100), (Left, 90), (Right, 100)], 10);
        assert_eq!((pairs, alone), (vec![(100, 100)], vec![(Left, 100), (Left, 90)]));
    }

    /// Two cameras deliver random timestamps in random order. Each frame is returned exactly once, in a pair or alone.
    /// Pairs are in order and within the tolerance.
    #[test]
    fn every_frame_is_returned_once() {
        for seed in 0..200_u64 {
            let mut state = seed;
            let mut random = |n: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % n
            };
            let (mut frames, mut at) = (Vec::new(), [0, 0]);
            for _ in 0..200 {
                let camera = [Left, Right][random(2) as usize];
                at[camera] += 1 + random(60);
                frames.push((camera, at[camera]));
            }
            let (pairs, alone) = run(&frames, 20);
            assert!(pairs.iter().all(|(l, r)| l.abs_diff(*r) <= 20));
            assert!(pairs.is_sorted());
            let mut out: Vec<_> =
                pairs.iter().flat_map(|&(l, r)| [(Left, l), (Right, r)]).collect();
            out.extend(alone);
            let key = |&(camera, time): &(usize, u64)| (camera, time);
            out.sort_by_key(key);
            frames.sort_by_key(key);
            assert_eq!(out, frames, "seed {seed}");
        }
    }
}
