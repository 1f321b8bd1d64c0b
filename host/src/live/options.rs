//! Options of live stitching.

use std::time::Duration;

use glam::UVec2;
use shared_types::stitch::MAX_CAMERAS;

use super::error::LiveError;
use super::failure::FailureOptions;
use super::input_formats::InputFormats;
use super::pairing::{Clocks, PairingOptions};
use crate::frame::PixelFormat;
use crate::geometry::MAX_CANVAS_AREA;
use crate::ops::colour::{EVERY, FRAME_RATE, every_at_rate};
use crate::ops::seam::Blend;
use crate::ops::stitch::StitchOptions;

/// The maximum of [`LiveOptions::slots`]: seconds of video, which take gigabytes.
const MAX_SLOTS: usize = 256;

/// The behaviour of a stitcher if frames arrive faster than panoramas can be made or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// For cameras: no call blocks. If no buffer is free, the set of frames is dropped. If the reader is too slow, the
    /// oldest unread panorama is discarded to make room for a new one.
    #[default]
    Live,
    /// For files: a frame is dropped only if no frames of the other cameras match it. `submit` and `push` block until a
    /// buffer is free. Buffers become free only when panoramas are read and dropped, so read the panoramas on another
    /// thread, and hold fewer than [`slots`](LiveOptions::slots) of them. A reader that holds all of them and waits for
    /// another one stops the stitcher with [`LiveError::Held`] after [`held_limit`](LiveOptions::held_limit).
    ///
    /// `push` also blocks while `slots − 1` frames of the pushed camera wait for frames of the other cameras. Therefore
    /// push each camera's frames on a separate thread, or submit whole sets. One thread can push for all cameras in the
    /// order of the timestamps only if the cameras have the same frame rate and no camera lacks `slots − 1` or more
    /// frames in a row. Otherwise, `push` can block forever: it waits for a frame that the same thread would push
    /// next. When one camera ends, call [`close`](super::Stitcher::close). A blocked `push` of another camera then
    /// returns [`LiveError::Closed`].
    ///
    /// The frame rate of a camera is known after 25 frames. Until then, all rates count as equal: if the rates differ,
    /// most of the frames until the 25th of the slowest camera are dropped, because they match within the
    /// [`tolerance`](LiveOptions::tolerance) only by chance. `submit` does not match frames, so it drops none.
    Wait,
}

/// The maximum time that a waiting thread sleeps before it checks whether the stitcher was closed or has failed.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The default deadline of a stitcher that detects cameras that fail.
const DEADLINE: Duration = Duration::from_millis(50);

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
    /// The time limit for an analysis. An analysis that exceeds it counts as failed.
    pub deadline: Duration,
    /// The camera that keeps its colours. The other cameras are matched to it. If `None`, all cameras share the
    /// changes.
    pub anchor: Option<usize>,
    /// Whether corrections with a gain other than 1 get a [shoulder](crate::ops::colour::Colour::shoulder), which keeps
    /// highlights. The stitch then uses the lookup [`Planes`](crate::ops::stitch::Lookup::Planes) instead of
    /// [`Mesh`](crate::ops::stitch::Lookup::Mesh), which takes 3.5 to 4.7 times as long on an H200.
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

/// Options of a [`Stitcher`](super::Stitcher).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// The pixel formats of the cameras' frames: one [`PixelFormat`] for all cameras, or one per camera. Their sizes
    /// are the source sizes of the warp.
    pub input: InputFormats,
    /// The pixel format of the panoramas. It is P010 if and only if all cameras are.
    pub output: PixelFormat,
    /// The size of the panoramas or views. The default is the size of the warp for panoramas, and
    /// [`DEFAULT_SIZE`](crate::ops::view::DEFAULT_SIZE) for views.
    pub size: Option<UVec2>,
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
    /// [`StitchedFrame::device_frame`](super::StitchedFrame::device_frame).
    pub download: bool,
    /// The behaviour if frames arrive faster than panoramas can be made or read.
    pub pace: Pace,
    /// The maximum number of sets of frames in flight, 2 to 256. It is also the number of panorama buffers. There are
    /// two more sets of input buffers: for the running colour analysis, and for the last frame of each camera.
    pub slots: usize,
    /// The time limit for readers that hold all panorama buffers in [`Pace::Wait`] while one of them waits for the next
    /// panorama, or after the stitcher was closed. The stitcher then fails with [`LiveError::Held`], because it cannot
    /// make the next panorama before a reader drops one. A reader that polls waits if it polls at least once per
    /// second. The default is 30 s.
    pub held_limit: Duration,
    /// The maximum difference between the timestamps of a frame and of the reference camera's frame in one set.
    /// [`Stitcher::push`](super::Stitcher::push) uses half of the measured frame time if that is less. It does not
    /// apply to a camera with another frame rate than the reference camera: of such a camera, each set has the nearest
    /// frame.
    pub tolerance: Duration,
    /// The camera whose frame rate the panoramas have, if frames are pushed one by one. While it is absent, or later
    /// than the `deadline`, the first camera that is not takes its place.
    pub reference: usize,
    /// The time by which a camera's next frame may lag behind the newest frame of the other cameras. After that, a set
    /// is completed with the last frame of this camera; it is completed earlier if `slots − 1` frames of another camera
    /// wait. Requires [`Pace::Live`]. Without a deadline, sets wait for every camera that is present, and a set that
    /// lacks a frame is dropped.
    ///
    /// If a timestamp is wrong by seconds and in the future, the frames of all other cameras are late until the next
    /// frame of its camera, or until this camera is absent. [`failure`](Self::failure) notices a camera without frames.
    pub deadline: Option<Duration>,
    /// The options for cameras that fail. They require [`Pace::Live`]. If `None`, the states of the cameras are
    /// unknown, and all cameras stay in the panorama. If set, the default of `deadline` is 50 ms.
    pub failure: Option<FailureOptions>,
    /// The clocks of the cameras' timestamps. [`Clocks::Estimate`] requires [`Pace::Live`].
    pub clocks: Clocks,
    /// The nanoseconds that are added to the timestamps of each camera, for instance to correct different latencies.
    pub offsets: [i64; MAX_CAMERAS],
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            input: InputFormats::default(),
            output: PixelFormat::Rgba8,
            size: None,
            stitch: StitchOptions::default(),
            colour: ColourOptions::default(),
            blend: Blend::default(),
            download: true,
            pace: Pace::default(),
            slots: 4,
            held_limit: Duration::from_secs(30),
            tolerance: Duration::from_millis(16),
            reference: 0,
            deadline: None,
            failure: None,
            clocks: Clocks::default(),
            offsets: [0; MAX_CAMERAS],
        }
    }
}

impl LiveOptions {
    /// Checks that all options are valid.
    pub(super) fn check(&self, cameras: usize) -> Result<(), LiveError> {
        if !(2..=MAX_SLOTS).contains(&self.slots) {
            return Err(LiveError::Options("`slots` must be 2 to 256; the default is 4"));
        }
        let area = |size: UVec2| u64::from(size.x) * u64::from(size.y);
        if self.size.is_some_and(|size| area(size) > MAX_CANVAS_AREA) {
            return Err(LiveError::Options("`size` must have at most 2²⁶ pixels"));
        }
        if self.colour.every == 0 {
            return Err(LiveError::Options("`colour.every` is 0; it must be at least 1"));
        }
        if self.colour.anchor.is_some_and(|anchor| anchor >= cameras) {
            return Err(LiveError::Options(
                "`colour.anchor` must be the index of a camera, from 0",
            ));
        }
        if self.reference >= cameras {
            return Err(LiveError::Options("`reference` must be the index of a camera, from 0"));
        }
        if self.pace == Pace::Wait && self.clocks == Clocks::Estimate {
            return Err(LiveError::Options(
                "`Clocks::Estimate` requires `Pace::Live`, in which frames arrive soon after their capture",
            ));
        }
        if let Some(failure) = &self.failure {
            if self.pace == Pace::Wait {
                return Err(LiveError::Options(
                    "`failure` requires `Pace::Live`; with `Pace::Wait`, the stitcher waits for every camera",
                ));
            }
            failure.check()?;
        }
        if self.pace == Pace::Wait && self.deadline.is_some() {
            return Err(LiveError::Options(
                "`deadline` requires `Pace::Live`; with `Pace::Wait`, the stitcher waits for every camera",
            ));
        }
        Ok(self.stitch.check(cameras)?)
    }

    /// Returns the time by which a camera's frames may lag behind. If it is set, sets may lack frames.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.deadline.or(self.failure.map(|_| DEADLINE))
    }

    /// Returns the options for pairing frames.
    pub(super) fn pairing(&self) -> PairingOptions {
        PairingOptions {
            tolerance: self.tolerance,
            most: self.slots - 1,
            deadline: self.deadline(),
            reference: self.reference,
            clocks: self.clocks,
            offsets: self.offsets.to_vec(),
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
