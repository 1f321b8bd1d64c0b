//! Refines the warp of a video once per second, so that near objects fit together.

use super::VideoStitchError;
use crate::device::{Device, Stream};
use crate::frame::{Frame, Rate};
use crate::live::LiveError;
use crate::ops::refine::{RefineError, RefineOptions, WarpRefiner};
use crate::warp::DeviceWarp;

/// The refining of a warp, once per second.
pub(super) struct Refining {
    stream: Stream,
    refiner: WarpRefiner,
    /// The number of panoramas from one update to the next.
    every: u64,
}

impl Refining {
    /// Creates the refining of a warp for panoramas at `rate`.
    pub(super) fn new(
        device: &Device,
        warp: &DeviceWarp,
        refine: RefineOptions,
        rate: Rate,
    ) -> Result<Self, VideoStitchError> {
        let stream = device.stream().map_err(LiveError::from)?;
        let refiner = WarpRefiner::new(&stream, warp, refine)?;
        Ok(Self { stream, refiner, every: rate.per_second().ceil() as u64 })
    }

    /// Returns whether the warp is refined before panorama `n`.
    pub(super) fn is_due(&self, n: u64) -> bool {
        n.is_multiple_of(self.every)
    }

    /// Returns the warp, refined for one frame per camera.
    pub(super) fn update(&mut self, frames: &[Frame<'_>]) -> Result<DeviceWarp, RefineError> {
        self.refiner.update(&self.stream, frames)
    }
}
