//! The seam of a warp in use: searched in parallel with the stitching, and faded to between frames.
//!
//! One copy of the warp holds the blending weights. They are written on the compute stream before the stitch of the
//! frame, and only while a seam fades. So no frame sees partly written weights.

use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use crate::device::{DeviceError, Pinned, Stream};
use crate::ops::colour::Colours;
use crate::ops::seam::{Seam, SeamError, SeamOptions, SeamTracker};
use crate::ops::stitch::StitchError;
use crate::warp::DeviceWarp;

/// A seam, its fade state, and the warp with its weights.
#[derive(Debug)]
pub(super) struct LiveSeam {
    seam: Seam,
    tracker: SeamTracker,
    seamed: DeviceWarp,
    /// The progress of the fade in weights that are not written yet.
    unwritten: Option<f32>,
}

impl LiveSeam {
    /// Returns `None` and logs a warning if the warp allows no seam.
    pub(super) fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        options: SeamOptions,
    ) -> Result<Option<Self>, SeamError> {
        let seam = match Seam::new(stream, warp, options) {
            Err(reason) if reason.is_of_warp() => {
                tracing::warn!("{reason}");
                return Ok(None);
            }
            seam => seam?,
        };
        let seamed = Seam::copy(stream, warp)?;
        Ok(Some(Self { seam, tracker: SeamTracker::default(), seamed, unwritten: None }))
    }

    /// Starts the next frame.
    pub(super) fn advance(&mut self) {
        self.unwritten = self.tracker.advance().or(self.unwritten);
    }

    /// Returns the warp for the frame. If its weights change, `stream` writes them first. The call may be repeated if
    /// the frame is submitted again.
    pub(super) fn warp(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
    ) -> Result<&DeviceWarp, DeviceError> {
        if let Some(part) = self.unwritten {
            self.seam.weigh(stream, warp, part, &mut self.seamed)?;
        }
        Ok(&self.seamed)
    }

    /// Returns the warp with the weights that were written last.
    pub(super) fn seamed(&self) -> &DeviceWarp {
        &self.seamed
    }

    /// Marks the weights of the frame as submitted.
    pub(super) fn submitted(&mut self) {
        self.unwritten = None;
    }

    /// Returns whether a search for a better path may start: not during a fade.
    pub(super) fn is_at_rest(&self) -> bool {
        self.tracker.is_at_rest()
    }

    /// Returns whether there is no path yet.
    pub(super) fn is_new(&self) -> bool {
        self.tracker.is_new()
    }

    /// Submits a search over a pair of frames and the download of its costs.
    ///
    /// # Safety
    /// - All searches must use the same stream.
    /// - `costs` must live and stay untouched until the stream is idle.
    pub(super) unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        pair: &Pair,
        colours: Colours,
        costs: &mut Pinned<SeamCosts>,
    ) -> Result<(), StitchError> {
        let (left, right) = (pair.left.view(), pair.right.view());
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.seam.submit(stream, warp, left, right, colours)?;
            self.seam.submit_download(stream, costs)?;
        }
        Ok(())
    }

    /// Processes the costs of a finished search. Returns whether the seam moves.
    pub(super) fn observe(&mut self, costs: SeamCosts) -> bool {
        let moves = self.tracker.observe(costs, self.seam.grid().cells().y);
        if moves {
            // The users of the former path were done before the search, which followed a later frame.
            self.seam.accept();
        }
        moves
    }
}
