//! The seam of a warp in use: looked for beside the stitching, and faded to between frames.
//!
//! The weights that frames are stitched with lie in one copy of the warp. They are written on the stream of
//! the stitches, before the stitch of the frame, and only while a seam fades. So no frame sees half of them.

use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use crate::device::{DeviceError, Pinned, Stream};
use crate::ops::colour::Colours;
use crate::ops::seam::{Seam, SeamError, SeamOptions, SeamTracker};
use crate::ops::stitch::StitchError;
use crate::warp::DeviceWarp;

/// A seam, where it stands, and the warp with its weights.
#[derive(Debug)]
pub(super) struct LiveSeam {
    seam: Seam,
    tracker: SeamTracker,
    seamed: DeviceWarp,
    /// How far the fade is in weights that are yet to be written.
    unwritten: Option<f32>,
}

impl LiveSeam {
    /// `None`, with a warning, where the warp has no seam.
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

    /// Begins the next frame.
    pub(super) fn advance(&mut self) {
        self.unwritten = self.tracker.advance().or(self.unwritten);
    }

    /// The warp for the frame, whose weights `stream` is told to write where they change. May be called
    /// again if the frame is submitted again.
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

    /// The warp with the weights that were written last.
    pub(super) fn seamed(&self) -> &DeviceWarp {
        &self.seamed
    }

    /// The frame was submitted, with its weights.
    pub(super) fn submitted(&mut self) {
        self.unwritten = None;
    }

    /// Whether to look for a better path now: not while one fades.
    pub(super) fn is_at_rest(&self) -> bool {
        self.tracker.is_at_rest()
    }

    /// Whether there is no path yet.
    pub(super) fn is_new(&self) -> bool {
        self.tracker.is_new()
    }

    /// Submits a look at a pair of frames, and the copy of what it finds.
    ///
    /// # Safety
    /// - All looks are on one stream.
    /// - `costs` live and nothing else touches them until it is idle.
    pub(super) unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        pair: &Pair,
        colours: Colours,
        costs: &mut Pinned<SeamCosts>,
    ) -> Result<(), StitchError> {
        let (left, right) = (pair.left.view(), pair.right.view());
        // SAFETY: as the caller vouches.
        unsafe {
            self.seam.submit(stream, warp, left, right, colours)?;
            self.seam.submit_download(stream, costs)?;
        }
        Ok(())
    }

    /// Takes in what the look found, which is done. Whether the seam moves.
    pub(super) fn observe(&mut self, costs: SeamCosts) -> bool {
        let moves = self.tracker.observe(costs, self.seam.grid().cells().y);
        if moves {
            // Who used the former path's memory was done before the look, which came behind a later frame.
            self.seam.accept();
        }
        moves
    }
}
