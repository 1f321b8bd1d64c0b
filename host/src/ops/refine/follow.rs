//! Refines the warp of a video again and again, so that it follows near objects.

use std::fmt;

use glam::{UVec2, Vec2};

use super::{RefineError, RefineOptions, Source, measure};
use crate::device::Stream;
use crate::frame::Frame;
use crate::warp::{DeviceWarp, Refinement};

/// The part of the difference to the measured displacements that a step takes.
const PART: f32 = 0.5;

/// The largest step in panorama pixels. A step of this size is hardly visible.
const STEP: f32 = 1.0;

/// Refines the warp of live cameras or of videos.
///
/// Call [`update`](Self::update) about once per second, and pass the result to
/// [`Stitcher::swap_warp`](crate::live::Stitcher::swap_warp). The first update moves the pictures at once. Later ones
/// move them by at most one pixel, and by half of the measured difference, so that wrong measurements and moving
/// objects cause no jumps after the first update.
///
/// An update searches displacements on one thread of the host, and a new warp needs a new mesh. For a large panorama,
/// this takes most of a second. So call it in a thread of its own if panoramas must not wait.
pub struct WarpRefiner {
    base: DeviceWarp,
    places: Box<dyn Fn(usize, UVec2) -> Option<Vec2> + Send>,
    options: RefineOptions,
    now: Option<Refinement>,
}

impl WarpRefiner {
    /// Creates a refiner of a warp, which it downloads. The refiner shares the warp's coordinates and copies its
    /// weights.
    ///
    /// # Errors
    /// Returns [`RefineError`] if the options are invalid or the device fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        options: RefineOptions,
    ) -> Result<Self, RefineError> {
        options.check()?;
        let places = Box::new(warp.places(stream)?);
        Ok(Self { base: warp.reweighted(stream)?, places, options, now: None })
    }

    /// Measures the displacements in one frame per camera, and returns the refined warp. Waits for the device.
    ///
    /// # Errors
    /// Returns [`RefineError`] if a frame is missing, is not needed or does not have the size of its camera's picture,
    /// or if the device fails.
    #[track_caller]
    pub fn update(
        &mut self,
        stream: &Stream,
        frames: &[Frame<'_>],
    ) -> Result<DeviceWarp, RefineError> {
        let sizes = self.base.sources();
        if frames.len() != sizes.len() {
            return Err(RefineError::Frames { found: frames.len(), expected: sizes.len() });
        }
        for (camera, (frame, &expected)) in frames.iter().zip(sizes).enumerate() {
            let found = frame.format().size;
            if found != expected {
                return Err(RefineError::FrameSize { camera, found, expected });
            }
        }
        let sources: Vec<_> = frames.iter().map(Source::of_frame).collect();
        let target = measure(&sources, self.base.size(), &self.options, &self.places)?;
        let now = match &self.now {
            Some(now) => now.towards(&target, PART, STEP),
            None => target,
        };
        Ok(self.base.refined(stream, self.now.insert(now))?)
    }

    /// Returns the current displacements, or `None` before the first update.
    #[must_use]
    pub fn refinement(&self) -> Option<&Refinement> {
        self.now.as_ref()
    }
}

impl fmt::Debug for WarpRefiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, options, now, .. } = self;
        f.debug_struct("WarpRefiner")
            .field("base", base)
            .field("options", options)
            .field("now", now)
            .finish_non_exhaustive()
    }
}
