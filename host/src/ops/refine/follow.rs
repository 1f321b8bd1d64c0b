//! Refines the warp of a video repeatedly, so that it follows near objects.

use glam::UVec2;

use super::{Comparison, GraySource, RefineError, RefineOptions};
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
/// [`Session::swap`](crate::live::Session::swap). The first update moves the pictures at once. Later ones
/// move them by at most one pixel, and by half of the measured difference, so that wrong measurements and moving
/// objects cause no jumps.
///
/// An update takes most of a second for a large panorama: one thread of the host searches the displacements, and the
/// new warp needs a new mesh. Call it in a thread of its own if panoramas must not wait.
#[derive(Debug)]
pub struct WarpRefiner {
    base: DeviceWarp,
    comparison: Comparison,
    now: Option<Refinement>,
}

impl WarpRefiner {
    /// Creates a refiner of a warp. The refiner shares the warp's coordinates and copies its weights. Waits for the
    /// device.
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
        let places = warp.places(stream)?;
        let comparison = Comparison::new(warp.size(), warp.sources(), options, places);
        Ok(Self { base: warp.reweighted(stream)?, comparison, now: None })
    }

    /// Measures the displacements in one frame per camera, and returns the refined warp. Waits for the device.
    ///
    /// # Errors
    /// Returns [`RefineError`] if there is not one frame per camera with the size of the camera's picture, or if the
    /// device fails.
    #[track_caller]
    pub fn update(
        &mut self,
        stream: &Stream,
        frames: &[Frame<'_>],
    ) -> Result<DeviceWarp, RefineError> {
        let sizes: Vec<_> = frames.iter().map(|frame| frame.format().size).collect();
        if sizes != self.base.sources() {
            let expected = self.base.sources();
            let text =
                format!("pass one frame per camera; expected sizes {expected:?}, found {sizes:?}");
            return Err(RefineError::Invalid(text));
        }
        let sources: Vec<_> = frames.iter().map(GraySource::of_frame).collect();
        let mut next = self.comparison.measure(&sources);
        if let Some(now) = &self.now {
            let shifts = next
                .shifts
                .iter_mut()
                .zip(&now.shifts)
                .flat_map(|(to, from)| to.iter_mut().zip(from));
            for (to, from) in shifts {
                *to = *from + (PART * (*to - *from)).clamp_length_max(STEP);
            }
        }
        Ok(self.base.refined(stream, self.now.insert(next), 0, (UVec2::ZERO, 1))?)
    }

    /// Returns the current displacements, or `None` before the first update.
    #[must_use]
    pub fn refinement(&self) -> Option<&Refinement> {
        self.now.as_ref()
    }
}
