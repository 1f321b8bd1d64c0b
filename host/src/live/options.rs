//! Options of live stitching.

use std::time::Duration;

use super::error::LiveError;
use super::failure::FailureOptions;
use super::input_formats::InputFormats;
use super::pairing::PairingOptions;
use crate::ops::blend::Blend;
use crate::ops::colour::{EVERY, FRAME_RATE, every_at_rate};
use crate::ops::stitch::StitchOptions;

/// The maximum of [`LiveOptions::slots`]: seconds of video, which take gigabytes.
const MAX_SLOTS: usize = 256;

/// The behaviour of a session if frames arrive faster than panoramas can be made or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// For cameras: no call blocks. If no buffer is free, the set of frames is dropped. If the reader is too slow, the
    /// oldest unread panorama is discarded to make room for a new one.
    #[default]
    Live,
    /// For files, whose sets are submitted as a whole: no set is dropped. `submit` blocks until a buffer is free.
    /// Buffers become free only when panoramas are read and dropped, so read the panoramas on another thread, and hold
    /// fewer than [`slots`](LiveOptions::slots) of them: a reader that holds all of them and waits for another one
    /// waits for ever.
    Wait,
}

/// The maximum time that a waiting thread sleeps before it checks whether the session was closed or has failed.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Options for the colour correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourOptions {
    /// Whether colour correction tracks changes in lighting.
    pub follow: bool,
    /// The number of frames from one analysis to the next, at least 1.
    pub every: u32,
    /// The number of frames per second, to which [`ColourTracker`](crate::ops::colour::ColourTracker) adapts the change
    /// of the colours from frame to frame.
    pub frame_rate: f64,
    /// The time limit for an analysis, in the time of the sets' timestamps. An analysis that exceeds it counts as
    /// failed.
    pub deadline: Duration,
    /// The camera that keeps its colours. The other cameras are matched to it. If `None`, all cameras share the
    /// changes.
    pub anchor: Option<usize>,
    /// Whether corrections with a gain other than 1 get a [shoulder](crate::ops::colour::Colour::shoulder), which keeps
    /// highlights. [`Lookup::Auto`](crate::ops::stitch::Lookup::Auto) then stands for planes, which take 3.5 to 4.7
    /// times as long as a mesh on an H200.
    pub keep_highlights: bool,
    /// The number of frames by which tests delay the launch of each analysis.
    #[doc(hidden)]
    pub delay: u32,
}

impl ColourOptions {
    /// Returns the default options for cameras with this number of frames per second. The colours change as fast, in
    /// time, as those of cameras with 30 frames per second and the default options.
    #[must_use]
    pub fn at_rate(per_second: f64) -> Self {
        Self { every: every_at_rate(per_second), frame_rate: per_second, ..Self::default() }
    }
}

impl Default for ColourOptions {
    /// Returns the options for cameras with 30 frames per second.
    fn default() -> Self {
        Self {
            follow: true,
            every: EVERY,
            frame_rate: FRAME_RATE,
            deadline: Duration::from_secs(2),
            anchor: None,
            keep_highlights: false,
            delay: 0,
        }
    }
}

/// Options of a [`Session`](super::Session).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// The pixel formats of the cameras' frames: one [`PixelFormat`](crate::frame::PixelFormat) for all cameras, or one per camera. Their sizes
    /// are the source sizes of the warp.
    pub input: InputFormats,
    /// Flip, edge boost, gamma method, lookup, vignettes, and manual colours. The manual colours apply until the colour
    /// correction has its first result, and while the colour correction is switched off. The covers have no effect:
    /// [`failure`](Self::failure) determines them.
    pub stitch: StitchOptions,
    /// The options for the colour correction.
    pub colour: ColourOptions,
    /// The blending in the overlaps. For blending with a seam, the seam search runs as often as the colour analysis;
    /// see [`seam`](crate::ops::seam). The two cameras of a seam must have the same pixel format.
    pub blend: Blend,
    /// Whether panoramas are copied to host memory. Without the copy, read them with
    /// [`OutputFrame::device_frame`](super::OutputFrame::device_frame).
    pub download: bool,
    /// The behaviour if frames arrive faster than panoramas can be made or read.
    pub pace: Pace,
    /// The maximum number of sets of frames in flight, 2 to 256. It is also the number of panorama buffers. There are
    /// two more sets of input buffers: for the running colour analysis, and for the last frame of each camera.
    pub slots: usize,
    /// The camera whose frame rate the panoramas have, if frames are pushed one by one. While it is absent or late, the
    /// first camera that is not takes its place.
    pub reference: usize,
    /// The options for cameras that fail. They require [`Pace::Live`]. If `None`, the states of the cameras are
    /// unknown, sets wait for every camera, and a set that lacks a frame is dropped.
    pub failure: Option<FailureOptions>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            input: InputFormats::default(),
            stitch: StitchOptions::default(),
            colour: ColourOptions::default(),
            blend: Blend::default(),
            download: true,
            pace: Pace::default(),
            slots: 4,
            reference: 0,
            failure: None,
        }
    }
}

impl LiveOptions {
    /// Checks that all options are valid.
    pub(super) fn check(&self, cameras: usize) -> Result<(), LiveError> {
        let checks = [
            (!(2..=MAX_SLOTS).contains(&self.slots), "`slots` must be 2 to 256; the default is 4"),
            (self.colour.every == 0, "`colour.every` is 0; it must be at least 1"),
            (
                self.colour.anchor.is_some_and(|anchor| anchor >= cameras),
                "`colour.anchor` must be the index of a camera, from 0",
            ),
            (self.reference >= cameras, "`reference` must be the index of a camera, from 0"),
            (
                self.pace == Pace::Wait && self.failure.is_some(),
                "`failure` requires `Pace::Live`; with `Pace::Wait`, the session waits for every camera",
            ),
        ];
        if let Some((_, text)) = checks.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(LiveError::invalid(text));
        }
        self.failure.as_ref().map_or(Ok(()), FailureOptions::check)?;
        Ok(self.stitch.check(cameras)?)
    }

    /// Returns the options for pairing frames.
    pub(super) fn pairing(&self) -> PairingOptions {
        PairingOptions {
            most: self.slots - 1,
            deadline: self.failure.map(|failure| failure.deadline),
            reference: self.reference,
        }
    }

    /// Returns the maximum number of sets that have been submitted and not released. It is one more than the number of
    /// panorama buffers, because the running colour analysis may still use an older set of frames.
    pub(super) fn sets(&self) -> usize {
        self.slots + 1
    }

    /// Returns the number of input buffers for each camera: one for each set, and one for the last frame of the camera.
    /// A set may show this frame again if it lacks a frame, or if the camera has a lower frame rate.
    pub(super) fn input_buffers(&self) -> usize {
        self.sets() + 1
    }
}
