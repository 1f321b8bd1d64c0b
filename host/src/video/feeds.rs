//! Selects the frames of the videos for each panorama by time.
//!
//! Each panorama uses the frame of each video that is nearest in time, with the video's [`Offset`]. So frames are
//! repeated or dropped if a video's frame rate differs from the rate of the panoramas. Stitching stops when the first
//! video ends: its last frame is shown until the next one would begin. A warning is logged if one video ends before the
//! others, or before the length stated in its file.

use std::time::{Duration, Instant};

use super::{Offset, VideoStitchError};
use crate::device::Stream;
use crate::frame::{Frame, Rate};
use crate::io::video::{VideoError, VideoFrame, VideoSource};
use crate::live::{CameraFrame, LiveError, Session};
use crate::ops::refine::WarpRefiner;

/// The maximum difference between the lengths of the two videos, in panoramas, that causes no warning. A small
/// difference is normal, because two cameras never stop at exactly the same time.
const SAME_END: u64 = 2;

/// The maximum time to wait for a further frame of one video after the other video has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// The limit for missing frames: a warning that a video is too short is logged if the number of missing frames, times
/// `SHORT`, exceeds the stated number of frames. This means that more than 0.5 % of the frames are missing.
const SHORT: u64 = 200;

/// The frame counts of each video, which video ended first, and whether a stop was requested.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) read: Vec<u64>,
    pub(super) unpaired: Vec<u64>,
    pub(super) repeated: Vec<u64>,
    pub(super) ended_first: Option<usize>,
    pub(super) stopped: bool,
    /// The total time of waiting for frames.
    pub(super) waited: Duration,
}

/// The videos of the cameras, whose frames are read in sets.
pub(super) struct Feeds {
    feeds: Vec<Feed>,
    /// The number of panoramas per second.
    rate: Rate,
    /// The tick of the first panorama; see [`Offset::frame`].
    first: u64,
    /// The total time of waiting for frames.
    waited: Duration,
}

/// One video with its current frame.
pub(super) struct Feed {
    source: VideoSource,
    offset: Offset,
    /// The current frame, which is the last one that was read.
    held: Option<VideoFrame>,
    /// Whether a set has used the current frame.
    is_used: bool,
    /// A copy of the current frame in host memory, if it was decoded to device memory and the host needs it.
    copy: Vec<u8>,
    read: u64,
    unpaired: u64,
    repeated: u64,
    /// Whether the video has no frame after the current one.
    ended: bool,
}

impl Feeds {
    /// Creates the feeds for panoramas at `rate`. Videos without an element in `offsets` have no offset, and elements
    /// without a video have no effect.
    pub(super) fn new(sources: Vec<VideoSource>, offsets: &[Offset], rate: Rate) -> Self {
        let offsets = &offsets[..offsets.len().min(sources.len())];
        let offsets_or_none = offsets.iter().copied().chain(std::iter::repeat(Offset::NONE));
        let feeds = sources.into_iter().zip(offsets_or_none);
        let feeds = feeds.map(|(source, offset)| Feed::new(source, offset)).collect();
        Self { feeds, rate, first: Offset::first_tick(offsets, rate), waited: Duration::ZERO }
    }

    /// Submits one set of frames per panorama to `stitcher`, until a video ends or `limit` sets were submitted.
    /// Once per second, the refiner, if any, replaces the warp first.
    pub(super) fn submit_all(
        &mut self,
        stitcher: &Session,
        limit: u64,
        mut refiner: Option<(Stream, WarpRefiner)>,
    ) -> (Counts, Result<(), VideoStitchError>) {
        let (mut n, mut is_there) = (0, true);
        let mut submit = || {
            while n < limit {
                let begin = Instant::now();
                is_there = self.advance(n)?;
                self.waited += begin.elapsed();
                if !is_there {
                    break;
                }
                if let Some((stream, refiner)) = &mut refiner
                    && n.is_multiple_of(self.rate.per_second().ceil() as u64)
                {
                    let warp = refiner.update(stream, &self.host_frames()?);
                    match stitcher.swap(warp.map_err(LiveError::from)?) {
                        // Where the pictures would move to, they may allow no seam.
                        Err(LiveError::Blend(reason)) => {
                            tracing::warn!("kept the former warp: {reason}");
                        }
                        swapped => swapped?,
                    }
                }
                let frames: Vec<_> = self.feeds.iter().filter_map(Feed::frame).collect();
                stitcher.submit(frames, self.rate.time(n))?;
                n += 1;
            }
            Ok(())
        };
        let result = submit();
        let stopped = self.feeds.iter().any(|feed| feed.source.stop().is_asked());
        let ended_first = if stopped || is_there { None } else { self.ended_first(n) };
        if !stopped {
            self.feeds.iter().for_each(Feed::complain);
        }
        let count = |of: fn(&Feed) -> u64| self.feeds.iter().map(of).collect();
        let counts = Counts {
            read: count(|feed| feed.read),
            unpaired: count(|feed| feed.unpaired),
            repeated: count(|feed| feed.repeated),
            ended_first,
            stopped,
            waited: self.waited,
        };
        (counts, result)
    }

    /// Advances each video to its frame for panorama `n`. Returns false if a video ends before.
    fn advance(&mut self, n: u64) -> Result<bool, VideoError> {
        for feed in &mut self.feeds {
            if !feed.advance(feed.wanted(self.first.saturating_add(n), self.rate))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the frame of each video for panorama `n` in host memory, or `None` if a video ends before the frame that
    /// this panorama needs.
    pub(super) fn frames(&mut self, n: u64) -> Result<Option<Vec<Frame<'_>>>, VideoError> {
        if self.advance(n)? { self.host_frames().map(Some) } else { Ok(None) }
    }

    /// Returns the current frame of each video in host memory.
    fn host_frames(&mut self) -> Result<Vec<Frame<'_>>, VideoError> {
        self.feeds.iter_mut().filter_map(Feed::host_frame).collect()
    }

    /// Returns the video that ended while all others continue, and logs a warning about it. `n` is the number of the
    /// first panorama that could not be made because a frame was missing.
    pub(super) fn ended_first(&mut self, n: u64) -> Option<usize> {
        let (rate, tick) = (self.rate, self.first.saturating_add(n + SAME_END));
        let next = self.first.saturating_add(n);
        let ended = self.feeds.iter().position(|feed| !feed.shows(feed.wanted(next, rate)))?;
        if self.feeds.len() == 1 {
            return None;
        }
        for (i, other) in self.feeds.iter_mut().enumerate().filter(|(i, _)| *i != ended) {
            // A video after the one that ended was not read for this panorama yet.
            let goes_on = !other.ended && other.has(other.wanted(tick, rate).nearest);
            if !goes_on {
                tracing::debug!("video {} ended as well", i + 1);
                return None;
            }
        }
        let rest = self.feeds.iter().filter(|feed| !feed.ended);
        let rest: Vec<_> = rest.map(|feed| feed.source.name().display().to_string()).collect();
        let Feed { source, read, .. } = &self.feeds[ended];
        tracing::warn!(
            "{} ended after {read} frames; the rest of {} is not stitched",
            source.name().display(),
            rest.join(", ")
        );
        Some(ended)
    }
}

/// The frames that a tick can use, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The frame that is nearest in time.
    pub(super) nearest: u64,
    /// The last frame that has begun. It is used if it is the last one of the video.
    pub(super) begun: u64,
}

impl Feed {
    pub(super) fn new(source: VideoSource, offset: Offset) -> Self {
        Self {
            source,
            offset,
            held: None,
            is_used: false,
            copy: Vec::new(),
            read: 0,
            unpaired: 0,
            repeated: 0,
            ended: false,
        }
    }

    /// Returns the frames that a tick can use at which the video has begun.
    pub(super) fn wanted(&self, tick: u64, ticks: Rate) -> Wanted {
        let (offset, rate) = (self.offset, self.source.rate());
        Wanted {
            nearest: offset.frame(rate, tick, ticks).unwrap_or(0),
            begun: offset.begun(rate, tick, ticks).unwrap_or(0),
        }
    }

    /// Advances to a wanted frame. Returns false if the video ends before. It is an error if no earlier frame was used.
    pub(super) fn advance(&mut self, wanted: Wanted) -> Result<bool, VideoError> {
        while !self.ended && self.read <= wanted.nearest {
            let Some(frame) = self.source.next_frame(None)? else {
                if self.source.stop().is_asked() {
                    return Ok(false);
                }
                self.ended = true;
                break;
            };
            self.held = Some(frame);
            self.read += 1;
            self.unpaired += 1;
            self.is_used = false;
        }
        if !self.shows(wanted) {
            if self.read == self.unpaired {
                let reason = format!(
                    "ends after {} frames, before all videos have begun; check the offsets in `sync`",
                    self.read
                );
                return Err(VideoError::input(self.source.name(), reason));
            }
            return Ok(false);
        }
        if std::mem::replace(&mut self.is_used, true) {
            self.repeated += 1;
        } else {
            self.unpaired -= 1;
        }
        Ok(true)
    }

    /// Returns whether the video does not end before a wanted frame, as far as it was read.
    fn shows(&self, wanted: Wanted) -> bool {
        !self.ended || wanted.begun < self.read
    }

    /// Returns the current frame.
    fn frame(&self) -> Option<CameraFrame<'static>> {
        Some(match self.held.as_ref()? {
            VideoFrame::Host(frame) => CameraFrame::Shared(frame.clone()),
            VideoFrame::Device(frame) => CameraFrame::Device(frame.clone().into()),
        })
    }

    /// Returns the current frame in host memory. Copies it there if necessary.
    pub(super) fn host_frame(&mut self) -> Option<Result<Frame<'_>, VideoError>> {
        let format = self.source.format();
        let bytes = match self.held.as_ref()? {
            VideoFrame::Host(frame) => return Some(Ok(frame.frame())),
            VideoFrame::Device(frame) => {
                self.copy.resize(format.bytes(), 0);
                if let Err(error) = self.source.download(frame, &mut self.copy) {
                    return Some(Err(error));
                }
                &self.copy
            }
        };
        Some(Frame::tight(format, bytes).map_err(VideoError::Pair))
    }

    /// Returns whether the video has a frame `n`. To find out, reads all frames up to `n`, and discards them without
    /// counting them as read.
    fn has(&mut self, n: u64) -> bool {
        (self.read..=n).all(|_| matches!(self.source.next_frame(Some(PATIENCE)), Ok(Some(_))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_without_a_video_have_no_effect() {
        let later = Offset { seconds: 5.0, ..Offset::NONE };
        let rate = Rate::new(30, 1).unwrap();
        assert_eq!(Offset::first_tick(&[later], rate), 150);
        assert_eq!(Feeds::new(Vec::new(), &[later], rate).first, 0);
    }
}
