//! Pairs the frames of two videos by time.
//!
//! Each panorama uses the frame of each video that is nearest in time, so frames are repeated or dropped if a video's
//! frame rate differs from the rate of the panoramas. Stitching stops when the shorter video ends. A warning is logged
//! if one video ends before the other, or before the length stated in its file.

use std::time::Duration;

use super::VideoStitchError;
use crate::frame::Frame;
use crate::frame::Rate;
use crate::io::video::{VideoError, VideoSource};
use crate::live::{Side, Stitcher};

/// The maximum difference between the lengths of the two videos, in panoramas, that causes no warning. A small
/// difference is normal, because two cameras never stop at exactly the same time.
const SAME_END: u64 = 2;

/// The maximum time to wait for a further frame of one video after the other video has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// The limit for missing frames: a warning that a video is too short is logged if the number of missing frames, times
/// `SHORT`, exceeds the stated number of frames. This means that more than 0.5 % of the frames are missing.
const SHORT: u64 = 200;

/// The frame counts of both videos (left, right), which video ended first, and whether a stop was requested.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) read: [u64; 2],
    pub(super) unpaired: [u64; 2],
    pub(super) repeated: [u64; 2],
    pub(super) ended_first: Option<Side>,
    pub(super) stopped: bool,
}

/// Two videos, whose frames are read in pairs.
pub(super) struct Pairs {
    sides: [Feed; 2],
    /// The number of panoramas per second.
    rate: Rate,
}

/// One video with its current frame.
struct Feed {
    source: VideoSource,
    /// The current frame and its number.
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

    /// Submits one pair of frames per panorama to `stitcher`, until a video ends or `limit` pairs were submitted.
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

    /// Submits the pair of frames for panorama `n`. Returns false if a video ends before the frame that this panorama
    /// needs.
    fn submit(&mut self, stitcher: &Stitcher, n: u64) -> Result<bool, VideoStitchError> {
        let time = self.rate.time(n);
        let Some([left, right]) = self.pair(n)? else { return Ok(false) };
        stitcher.submit(left, right, time)?;
        Ok(true)
    }

    /// Returns the pair of frames for panorama `n`, or `None` if a video ends before the frame that this panorama
    /// needs.
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

    /// Returns the video that ended while the other one continues, and logs a warning about it. `n` is the number of
    /// the first panorama that could not be made because a frame was missing.
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
            "{} ended after {} frames; the rest of {} is not stitched",
            ended.source.name().display(),
            ended.read,
            other.source.name().display()
        );
        Some(camera)
    }
}

impl Feed {
    /// Advances to frame `n`. Returns false if the video ends before frame `n`.
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

    /// Returns the current frame.
    fn frame(&self) -> Option<Result<Frame<'_>, VideoError>> {
        let (_, bytes) = self.held.as_ref()?;
        Some(Frame::tight(self.source.format(), bytes).map_err(VideoError::Pair))
    }

    /// Returns whether the video has a frame `n`. To find out, reads all frames up to `n`, and discards them without
    /// counting them as read.
    fn has(&mut self, n: u64) -> bool {
        (self.read..=n).all(|_| match self.source.frame_within(Some(PATIENCE)) {
            Ok(Some(frame)) => {
                self.source.give_back(frame);
                true
            }
            _ => false,
        })
    }

    /// Logs a warning if the video ended long before its stated length.
    fn complain(&self) {
        let Some(expected) = self.source.expected().filter(|_| self.ended) else { return };
        let lacking = expected.saturating_sub(self.read);
        if lacking > SAME_END && lacking.saturating_mul(SHORT) > expected {
            tracing::warn!(
                "{} ended after {} frames, but its stated length is about {expected} frames; the file is \
                 damaged, or its pictures end before its sound",
                self.source.name().display(),
                self.read
            );
        }
    }
}
