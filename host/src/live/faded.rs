//! A copy of the warp whose weights follow the presences of the cameras.
//!
//! The weights are written only when a presence or a seam changes, on the stream of the stitch kernels and before the
//! stitch of the frame. Therefore no stitch reads partly written weights, and panoramas without absent cameras need no
//! extra work.

use shared_types::stitch::MAX_CAMERAS;

use crate::device::{DeviceError, Stream};
use crate::ops::seam::Seam;
use crate::warp::{DeviceWarp, RenderError};

/// The presences that the weights follow, and whether a frame is stitched with the mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed<'a> {
    pub(super) presences: &'a [f32; MAX_CAMERAS],
    pub(super) by_mesh: bool,
}

/// A copy of a warp whose weights follow the presences of the cameras.
#[derive(Debug)]
pub(super) struct FadedWarp {
    copy: DeviceWarp,
    /// The presences that the weights contain. `None` after a failure, which may leave any weights.
    presences: Option<[f32; MAX_CAMERAS]>,
}

impl Followed<'_> {
    /// Returns whether a camera is not wholly present.
    pub(super) fn any_absent(&self) -> bool {
        any_absent(self.presences)
    }
}

fn any_absent(presences: &[f32; MAX_CAMERAS]) -> bool {
    presences.iter().any(|presence| *presence < 1.0)
}

impl FadedWarp {
    /// Copies a warp. If it has a mesh, the mesh of the copy follows the weights.
    #[track_caller]
    pub(super) fn new(stream: &Stream, warp: &DeviceWarp) -> Result<Self, DeviceError> {
        let copy = Seam::copy(stream, warp)?;
        Ok(Self { copy, presences: Some([1.0; MAX_CAMERAS]) })
    }

    /// Returns the copy of the warp as written for the latest frame.
    pub(super) fn warp(&self) -> &DeviceWarp {
        &self.copy
    }

    /// Returns the copy of the warp with the weights for these presences. If they differ from those of the last call,
    /// or if `stale` is set, first submits the work that writes the weights to `stream`. `weigh` submits the work that
    /// writes the weights without absent cameras, and does not call [`DeviceWarp::written`]. When it is called, the
    /// copy has the weights of `warp` or those of the last call of `weigh`. If `by_mesh` is set and the copy has no
    /// mesh, because the lookup has changed, it gets one.
    ///
    /// If the worker repeats the submission of a frame, it calls this method again.
    #[track_caller]
    pub(super) fn follow(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        Followed { presences, by_mesh }: Followed<'_>,
        stale: bool,
        weigh: impl FnOnce(&mut DeviceWarp) -> Result<(), DeviceError>,
    ) -> Result<&DeviceWarp, RenderError> {
        if by_mesh {
            self.copy.adopt_mesh(stream, warp)?;
        }
        if !stale && self.presences == Some(*presences) {
            return Ok(&self.copy);
        }
        if self.presences.take().is_none_or(|written| any_absent(&written)) {
            // The kernel changes the weights in place, and the seam of two cameras writes only a part of them.
            self.copy.restore(stream, warp)?;
        }
        weigh(&mut self.copy)?;
        if any_absent(presences) {
            self.copy.fade(stream, warp, presences)?;
        } else {
            self.copy.written(stream)?;
        }
        self.presences = Some(*presences);
        Ok(&self.copy)
    }
}
