//! Options of live stitching.

use std::time::Duration;

use glam::UVec2;

use super::error::LiveError;
use crate::frame::PixelFormat;
use crate::ops::colour::EVERY;
use crate::ops::seam::Blend;
use crate::ops::stitch::StitchOptions;

/// The behaviour if frames come faster than panoramas can be made or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// For cameras: no call blocks. If no buffer is free, the pair is dropped. If the reader is slow, the oldest
    /// unread panorama makes room for the newest.
    #[default]
    Live,
    /// For files: only frames without a partner are dropped. `submit` and `push` block until a buffer is free, and so
    /// until the reader catches up: read on another thread.
    ///
    /// `push` also blocks while `slots − 1` frames of its camera have no partner, until frames of the other camera
    /// arrive. So push each camera on its own thread, or push them in turns. When one camera ends, call
    /// [`close`](super::Stitcher::close); the blocked `push` of the other camera then returns [`LiveError::Closed`].
    Wait,
}

/// The longest sleep of a waiting thread before it checks again whether it should stop waiting.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Options of the colour correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourOptions {
    /// Whether colour correction tracks changes in lighting.
    pub follow: bool,
    /// The number of frames from one analysis to the next.
    pub every: u32,
    /// The time limit for a result. A later result counts as a failure.
    pub deadline: Duration,
    /// The number of frames by which each analysis is launched late, for tests.
    #[doc(hidden)]
    pub delay: u32,
}

impl Default for ColourOptions {
    fn default() -> Self {
        Self { follow: true, every: EVERY, deadline: Duration::from_secs(2), delay: 0 }
    }
}

/// Options of a [`Stitcher`](super::Stitcher).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// Pixel format of the cameras' frames. Their sizes are those of the warp's sources.
    pub input: PixelFormat,
    /// Pixel format of the panorama.
    pub output: PixelFormat,
    /// Size of the output. Defaults to the size of the warp, or to [`DEFAULT_SIZE`](crate::ops::view::DEFAULT_SIZE)
    /// for views.
    pub size: Option<UVec2>,
    /// Flip, edge boost, gamma method, and colours. The colours apply while colour correction is off, and until its
    /// first result.
    pub stitch: StitchOptions,
    /// Colour correction that tracks changes in lighting.
    pub colour: ColourOptions,
    /// Blending in the overlap. The seam search runs as often as the colour analysis; see [`seam`](crate::ops::seam).
    pub blend: Blend,
    /// The behaviour if frames come too fast.
    pub pace: Pace,
    /// Maximum number of pairs in flight (at least 2). Each slot has a panorama buffer. One extra pair of input
    /// buffers is reserved for the running colour analysis.
    pub slots: usize,
    /// Maximum difference between the timestamps of a pair. [`Stitcher::push`](super::Stitcher::push) reduces it to
    /// half of the measured frame time if that is less.
    pub tolerance: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            input: PixelFormat::Rgba8,
            output: PixelFormat::Rgba8,
            size: None,
            stitch: StitchOptions::default(),
            colour: ColourOptions::default(),
            blend: Blend::default(),
            pace: Pace::default(),
            slots: 4,
            tolerance: Duration::from_millis(16),
        }
    }
}

impl LiveOptions {
    /// Returns [`LiveError`] if an option is invalid.
    pub(super) fn check(&self) -> Result<(), LiveError> {
        if self.slots < 2 {
            return Err(LiveError::Options("fewer than 2 slots; use 4"));
        }
        if self.colour.every == 0 {
            return Err(LiveError::Options("a colour analysis every 0 frames; use 1 or more"));
        }
        Ok(self.stitch.check()?)
    }

    /// Returns the number of input buffers for each camera. It is one more than the panorama buffers, because a colour
    /// analysis may hold a pair.
    pub(super) fn input_buffers(&self) -> usize {
        self.slots + 1
    }
}
