//! Frames of two videos, brought together in time.
//!
//! To each panorama goes the frame of either video that is nearest to it, so frames are repeated or left
//! out where a video's rate differs. A video that ends before the other, or before its own length, is
//! said to have: the panorama ends with the first.

use std::time::Duration;

use super::VideoStitchError;
use crate::frame::Frame;
use crate::frame::Rate;
use crate::io::video::{VideoError, VideoSource};
use crate::live::{Side, Stitcher};

/// Panoramas that one video may have more than the other without a word: cameras do not stop at once.
const SAME_END: u64 = 2;

/// How long is waited to see whether the other video goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// A video is short if so many times what it lacks is more than what it should have.
const SHORT: u64 = 200;

/// What was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) read: [u64; 2],
    pub(super) unpaired: [u64; 2],
    pub(super) repeated: [u64; 2],
    pub(super) ended_first: Option<Side>,
    pub(super) stopped: bool,
}

/// The two videos in step.
pub(super) struct Pairs {
    sides: [Feed; 2],
    /// Panoramas a second.
    rate: Rate,
}

/// One video.
struct Feed {
    source: VideoSource,
    /// The frame at hand, and its number.
    held: Option<(u64, Vec<u8>)>,
    read: u64,
    unpaired: u64,
    repeated: u64,
    ended: bool,
}

impl Pairs {
    pub(super) fn new(sources: [VideoSource; 2], rate: Rate) -> Self {
        let side =
            |source| Feed { source, held: None, read: 0, unpaired: 0, repeated: 0, ended: false };
        Self { sides: sources.map(side), rate }
    }

    /// Submits a pair for each panorama, up to `limit`.
    pub(super) fn submit_all(
        &mut self,
        stitcher: &Stitcher,
        limit: u64,
    ) -> (Counts, Result<(), VideoStitchError>) {
        let mut n = 0;
        let result = loop {
            if n == limit {
                break Ok(());
            }
            match self.submit(stitcher, n) {
                Ok(true) => n += 1,
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let stopped = self.sides.iter().any(|side| side.source.stop().is_asked());
        let ended_first = if stopped { None } else { self.ended_first(n) };
        if !stopped {
            self.sides.iter().for_each(Feed::complain);
        }
        let count = |of: fn(&Feed) -> u64| self.sides.each_ref().map(of);
        let counts = Counts {
            read: count(|side| side.read),
            unpaired: count(|side| side.unpaired),
            repeated: count(|side| side.repeated),
            ended_first,
            stopped,
        };
        (counts, result)
    }

    /// Submits the pair of panorama `n`; false if a video ends before.
    fn submit(&mut self, stitcher: &Stitcher, n: u64) -> Result<bool, VideoStitchError> {
        let time = self.rate.time(n);
        let Some([left, right]) = self.pair(n)? else { return Ok(false) };
        stitcher.submit(left, right, time)?;
        Ok(true)
    }

    /// The pair of panorama `n`; `None` if a video ends before.
    pub(super) fn pair(&mut self, n: u64) -> Result<Option<[Frame<'_>; 2]>, VideoError> {
        for side in &mut self.sides {
            if !side.advance(side.source.rate().nearest(n, self.rate))? {
                return Ok(None);
            }
        }
        let [Some(left), Some(right)] = self.sides.each_ref().map(Feed::frame) else {
            return Ok(None);
        };
        Ok(Some([left?, right?]))
    }

    /// The video that ended while the other goes on, where `n` is the first panorama that is not made.
    pub(super) fn ended_first(&mut self, n: u64) -> Option<Side> {
        let rate = self.rate;
        let [left, right] = &mut self.sides;
        let (camera, ended, other) = match (left.ended, right.ended) {
            (true, false) => (Side::Left, left, right),
            (false, true) => (Side::Right, right, left),
            _ => return None,
        };
        if !other.has(other.source.rate().nearest(n + SAME_END, rate)) {
            return None;
        }
        tracing::warn!(
            "{} ended after {} frames; {} goes on, and its rest is not stitched",
            ended.source.name().display(),
            ended.read,
            other.source.name().display()
        );
        Some(camera)
    }
}

impl Feed {
    /// Makes frame `n` the one at hand; false if the video ends before.
    fn advance(&mut self, n: u64) -> Result<bool, VideoError> {
        if self.held.as_ref().is_some_and(|(number, _)| *number == n) {
            self.repeated += 1;
            return Ok(true);
        }
        loop {
            if let Some((_, frame)) = self.held.take() {
                self.source.give_back(frame);
            }
            let Some(frame) = self.source.frame()? else {
                self.ended = !self.source.stop().is_asked();
                return Ok(false);
            };
            let number = self.read;
            self.read += 1;
            self.held = Some((number, frame));
            if number == n {
                return Ok(true);
            }
            self.unpaired += 1;
        }
    }

    /// The frame at hand.
    fn frame(&self) -> Option<Result<Frame<'_>, VideoError>> {
        let (_, bytes) = self.held.as_ref()?;
        Some(Frame::tight(self.source.format(), bytes).map_err(VideoError::Pair))
    }

    /// Whether frame `n` is there, too. What is read for it counts nowhere.
    fn has(&mut self, n: u64) -> bool {
        (self.read..=n).all(|_| match self.source.frame_within(Some(PATIENCE)) {
            Ok(Some(frame)) => {
                self.source.give_back(frame);
                true
            }
            _ => false,
        })
    }

    /// Says so if the video ended long before it should have.
    fn complain(&self) {
        let Some(expected) = self.source.expected().filter(|_| self.ended) else { return };
        let lacking = expected.saturating_sub(self.read);
        if lacking > SAME_END && lacking.saturating_mul(SHORT) > expected {
            tracing::warn!(
                "{} ended after {} frames, though by its length it has about {expected}: it is \
                 damaged, or its pictures end before its sound",
                self.source.name().display(),
                self.read
            );
        }
    }
}
