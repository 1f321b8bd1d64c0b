//! The seam of the warp in use. The `follow` module searches for a better path of the seam in parallel with the
//! stitching. When it finds one, the blending weights fade to the new path over 12 frames.
//!
//! The blending weights of the seam are stored in a copy of the warp. They are written only during a fade, on the
//! stream of the stitch kernels and before the stitch of the frame. Therefore no stitch reads partly written weights.

use shared_types::seam::SeamCosts;

use super::buffers::FrameSet;
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
    /// The progress of the fade (0 to 1) at the next frame, if the weights for this progress are not written yet.
    /// `None` if the weights are up to date.
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

    /// Advances the fade between two paths to the next frame.
    pub(super) fn advance(&mut self) {
        self.unwritten = self.tracker.advance().or(self.unwritten);
    }

    /// Returns the warp with the seam's weights for the current frame. During a fade, first submits to `stream` the
    /// kernel that writes these weights. If the worker repeats the submission of a frame, it calls this method again.
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

    /// Returns the copy of the warp that contains the weights of the seam, as written for the latest frame.
    pub(super) fn seamed(&self) -> &DeviceWarp {
        &self.seamed
    }

    /// Records that the kernel for the weights of the current frame was submitted, so that it is not submitted again.
    pub(super) fn submitted(&mut self) {
        self.unwritten = None;
    }

    /// Returns whether the seam is not fading to a new path. Only then may a search for a better path start.
    pub(super) fn is_at_rest(&self) -> bool {
        self.tracker.is_at_rest()
    }

    /// Returns whether the seam has no path yet.
    pub(super) fn is_new(&self) -> bool {
        self.tracker.is_new()
    }

    /// Submits the search for the best seam path in a set of frames, and the download of the path's costs.
    pub(super) unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        set: &FrameSet,
        colours: Colours,
        costs: &mut Pinned<SeamCosts>,
    ) -> Result<(), StitchError> {
        let frames = set.lock();
        let &[left, right] = &frames.views()[..] else { return Ok(()) };
        // SAFETY: the caller uses one stream for all searches of this seam. The caller also keeps `costs` valid and
        // does not access it until this stream is idle.
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
            // `accept` reuses the memory of the former path. The kernels that read the former path have ended, because
            // they were submitted for earlier frames than the one that the search analysed.
            self.seam.accept();
        }
        moves
    }
}
