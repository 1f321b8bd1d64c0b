//! The seam of the warp in use. `follow` searches a better path for it in parallel with the stitching. Then the
//! blending weights fade to the new path over 12 frames.
//!
//! The seam's blending weights are in a copy of the warp. They are written only during a fade, on the compute stream
//! before the stitch of the frame. Therefore no stitch reads partly written weights.

use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use crate::device::{DeviceError, Pinned, Stream};
use crate::ops::colour::Colours;
use crate::ops::seam::{Seam, SeamError, SeamOptions, SeamTracker};
use crate::ops::stitch::StitchError;
use crate::warp::DeviceWarp;

/// A seam, the state of its fade, and a copy of the warp with the seam's weights.
#[derive(Debug)]
pub(super) struct LiveSeam {
    seam: Seam,
    tracker: SeamTracker,
    seamed: DeviceWarp,
    /// The progress of the fade, 0 to 1, for which the next frame's weights must still be written; `None` if the
    /// weights are up to date.
    unwritten: Option<f32>,
}

impl LiveSeam {
    /// Creates the seam. Returns `None` and logs a warning if the warp does not allow a seam.
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

    /// Advances the fade to the next frame.
    pub(super) fn advance(&mut self) {
        self.unwritten = self.tracker.advance().or(self.unwritten);
    }

    /// Returns the warp for the frame. If the weights change for this frame, first submits to `stream` the kernel that
    /// writes them. The worker calls this again if it submits the frame again.
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

    /// Records that the weights of the frame were submitted.
    pub(super) fn submitted(&mut self) {
        self.unwritten = None;
    }

    /// Returns whether a search for a better path may start, which is the case except during a fade.
    pub(super) fn is_at_rest(&self) -> bool {
        self.tracker.is_at_rest()
    }

    /// Returns whether the seam has no path yet.
    pub(super) fn is_new(&self) -> bool {
        self.tracker.is_new()
    }

    /// Submits a search for the best path for a pair of frames, and the download of its costs.
    ///
    /// # Safety
    /// - All searches of this seam must use the same stream.
    /// - `costs` must stay valid, and must not be accessed, until the stream is idle.
    pub(super) unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        pair: &Pair,
        colours: Colours,
        costs: &mut Pinned<SeamCosts>,
    ) -> Result<(), StitchError> {
        let (left, right) = (pair.left.view(), pair.right.view());
        // SAFETY: the caller uses one stream for all searches, and keeps `costs` valid and unused until it is idle.
        unsafe {
            self.seam.submit(stream, warp, left, right, colours)?;
            self.seam.submit_download(stream, costs)?;
        }
        Ok(())
    }

    /// Processes the costs of a finished search. Returns whether the seam moves to the path that the search found.
    pub(super) fn observe(&mut self, costs: SeamCosts) -> bool {
        let moves = self.tracker.observe(costs, self.seam.grid().cells().y);
        if moves {
            // `accept` reuses the memory of the former path. The kernels that read that path are done, because the
            // search ran after a frame that was submitted later.
            self.seam.accept();
        }
        moves
    }
}
