//! A copy of the warp in use, whose blending weights follow the presences of the cameras and the seams between them.
//!
//! The `follow` module searches for better paths of the seams in parallel with the stitching. When it finds one, the
//! weights fade to the new path over 12 frames.
//!
//! The weights are written only when a presence or a seam changes, on the stream of the stitch kernels and before the
//! stitch of the frame. Therefore no stitch reads partly written weights, and panoramas without absent cameras need no
//! extra work.

use shared_types::seam::SeamCosts;
use shared_types::stitch::MAX_CAMERAS;

use super::buffers::{FrameSet, views};
use super::error::LiveError;
use super::follow::Compared;
use crate::device::{DeviceError, Pinned, Stream};
use crate::frame::FrameFormat;
use crate::ops::blend::{Blend, BlendError};
use crate::ops::colour::Colours;
use crate::ops::seam::{Seam, SeamError, SeamTracker, Seams};
use crate::ops::stitch::StitchError;
use crate::warp::{DeviceWarp, RenderError};

/// A copy of a warp with the weights of the seams and of the presences.
#[derive(Debug)]
pub(super) struct LiveWeights {
    copy: DeviceWarp,
    /// The presences that the weights contain. `None` after a failure, which may leave any weights.
    presences: Option<[f32; MAX_CAMERAS]>,
    /// The seams, if the blend asks for them and an overlap allows one.
    seams: Option<Seams>,
    /// The state of each seam.
    states: Vec<State>,
    /// Whether the weights of the seams for the next frame are not written yet.
    unwritten: bool,
}

/// The state of one seam.
#[derive(Debug)]
struct State {
    tracker: SeamTracker,
    /// The progress of the fade to the current path, from 0 to 1.
    part: f32,
    /// The costs of the latest search.
    costs: Pinned<SeamCosts>,
    /// Whether a search for a better path runs.
    searching: bool,
}

/// Returns whether a camera is not wholly present.
pub(super) fn any_absent(presences: &[f32; MAX_CAMERAS]) -> bool {
    presences.iter().any(|presence| *presence < 1.0)
}

impl LiveWeights {
    /// Copies the warp and creates the seams of the blend. Returns no weights if the blend has no seams or no cameras
    /// overlap, and cameras that fail are not detected. Also returns the reason of each overlap that allows no seam
    /// beside others that allow one. If the warp has a mesh, the mesh of the copy follows the weights.
    ///
    /// # Errors
    /// Returns [`LiveError`] if cameras overlap but no overlap allows a seam, or if two cameras with a seam have
    /// different pixel formats in `inputs`: the kernels that compare both cameras read only one format.
    #[track_caller]
    pub(super) fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        blend: Blend,
        failures: bool,
        inputs: &[FrameFormat],
    ) -> Result<(Option<Self>, Vec<String>), LiveError> {
        let is_alike = inputs.iter().all(|format| format.pixels == inputs[0].pixels);
        let allows = inputs.len() > 1 && (is_alike || !matches!(blend, Blend::Auto(_)));
        let options = blend.mode().seam().filter(|_| allows);
        let (seams, reasons) = match options.map(|options| Seams::new(stream, warp, options)) {
            // Without an overlap, there is nothing to blend.
            None | Some(Err(SeamError::NoOverlap)) => (None, Vec::new()),
            Some(Err(reason)) if reason.is_of_warp() && matches!(blend, Blend::Auto(_)) => {
                tracing::info!("{reason}; the blend is feathered");
                (None, Vec::new())
            }
            Some(Err(reason)) if reason.is_of_warp() => {
                let blend = blend.name();
                return Err(BlendError(format!(
                    "the blend `{blend}` needs a seam, but the warp allows none: {reason}"
                ))
                .into());
            }
            Some(seams) => {
                let (seams, missing) = seams?;
                (Some(seams), missing.iter().map(ToString::to_string).collect())
            }
        };
        if seams.is_none() && !failures {
            return Ok((None, reasons));
        }
        let mut states = Vec::new();
        for seam in seams.iter().flat_map(Seams::pairs) {
            let (cameras, pixels) = (seam.cameras(), seam.cameras().map(|i| inputs[i].pixels));
            if pixels[0] != pixels[1] {
                return Err(BlendError(format!(
                    "the frames of cameras {} and {} are {} and {}, but a seam requires one pixel format; use the blend `feather`, or convert the frames of one camera",
                    cameras[0] + 1, cameras[1] + 1, pixels[0], pixels[1]
                ))
                .into());
            }
            let (tracker, costs) = (SeamTracker::default(), Pinned::new(stream.device(), 1)?);
            states.push(State { tracker, part: 0.0, costs, searching: false });
        }
        let (copy, presences) = (Seam::copy(stream, warp)?, Some([1.0; MAX_CAMERAS]));
        Ok((Some(Self { copy, presences, seams, states, unwritten: false }), reasons))
    }

    /// Yields each seam with its state.
    fn seams_mut(&mut self) -> impl Iterator<Item = (&mut Seam, &mut State)> {
        self.seams.iter_mut().flat_map(Seams::pairs_mut).zip(&mut self.states)
    }

    /// Yields each seam between two of the `compared` cameras with its state.
    fn between(&self, compared: &Compared) -> impl Iterator<Item = (&Seam, &State)> {
        let seams = self.seams.iter().flat_map(Seams::pairs).zip(&self.states);
        seams.filter(|(seam, _)| is_compared(seam, compared))
    }

    pub(super) fn has_seams(&self) -> bool {
        self.seams.is_some()
    }

    /// Takes over the paths and fades of the seams of the warp that this one replaces, so that the picture does not
    /// jump. Seams whose places differ too much start again. Waits for the device.
    pub(super) fn take_over(&mut self, stream: &Stream, former: &Self) -> Result<(), DeviceError> {
        let mut taken = false;
        for (seam, state) in self.seams_mut() {
            let mut pairs = former.between(&[true; MAX_CAMERAS]);
            if let Some((old, old_state)) = pairs.find(|(old, _)| old.cameras() == seam.cameras())
                && seam.take_over(stream, old)?
            {
                (state.tracker, state.part) = (old_state.tracker.clone(), old_state.part);
                taken = true;
            }
        }
        self.unwritten |= taken;
        Ok(())
    }

    /// Advances the fades between two paths to the next frame.
    pub(super) fn advance(&mut self) {
        for state in &mut self.states {
            if let Some(part) = state.tracker.advance() {
                state.part = part;
                self.unwritten = true;
            }
        }
    }

    /// Returns the copy of the warp with the weights for the current frame. If they differ from those of the last
    /// frame, first submits to `stream` the kernels that write them. If `by_mesh` is set and the copy has no mesh,
    /// because the lookup has changed, it gets one. If the worker repeats the submission of a frame, it calls this
    /// method again.
    #[track_caller]
    pub(super) fn write(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        presences: &[f32; MAX_CAMERAS],
        by_mesh: bool,
    ) -> Result<&DeviceWarp, RenderError> {
        if by_mesh {
            self.copy.adopt_mesh(stream, warp)?;
        }
        if !self.unwritten && self.presences == Some(*presences) {
            return Ok(&self.copy);
        }
        if self.presences.take().is_none_or(|written| any_absent(&written)) {
            // The kernel changes the weights in place, and the seam of two cameras writes only a part of them.
            self.copy.restore(stream, warp)?;
        }
        let parts: Vec<_> = self.states.iter().map(|state| state.part).collect();
        // Before the first fade, no seam has a path, and the weights are those of the warp.
        if let Some(seams) = &mut self.seams
            && parts.iter().any(|part| *part != 0.0)
        {
            seams.write(stream, warp, &parts, &mut self.copy)?;
        }
        if any_absent(presences) {
            self.copy.fade(stream, warp, presences)?;
        } else {
            self.copy.written(stream)?;
        }
        self.presences = Some(*presences);
        Ok(&self.copy)
    }

    /// Returns the copy of the warp as written for the latest frame.
    pub(super) fn warp(&self) -> &DeviceWarp {
        &self.copy
    }

    /// Records that the kernels for the weights of the current frame were submitted, so that they are not submitted
    /// again.
    pub(super) fn submitted(&mut self) {
        self.unwritten = false;
    }

    /// Returns whether a seam between two of the `compared` cameras is not fading to a new path. Only then may a search
    /// for a better path start.
    pub(super) fn is_at_rest(&self, compared: &Compared) -> bool {
        self.between(compared).any(|(_, state)| state.tracker.is_at_rest())
    }

    /// Returns whether a seam between two of the `compared` cameras has no path yet.
    pub(super) fn is_new(&self, compared: &Compared) -> bool {
        self.between(compared).any(|(_, state)| state.tracker.is_new())
    }

    /// Submits the search for the best path of each seam between two of the `compared` cameras that is at rest, and the
    /// download of the paths' costs.
    ///
    /// # Safety
    /// The caller uses one stream for all searches, and keeps the seams and the frames until this stream is idle.
    pub(super) unsafe fn search(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        set: &FrameSet,
        compared: &Compared,
        colours: Colours,
    ) -> Result<(), StitchError> {
        let frames = set.lock();
        let frames = views(&frames);
        for (seam, state) in self.seams_mut() {
            state.searching = state.tracker.is_at_rest() && is_compared(seam, compared);
            if !state.searching {
                continue;
            }
            let [left, right] = seam.cameras().map(|camera| frames[camera]);
            // SAFETY: the caller uses one stream for all searches, keeps `costs`, and calls `observe` only when this
            // stream is idle.
            unsafe {
                seam.submit(stream, warp, left, right, colours)?;
                seam.submit_download(stream, &mut state.costs)?;
            }
        }
        Ok(())
    }

    /// Processes the costs of finished searches. Returns the number of seams that move to the path that the search
    /// found.
    pub(super) fn observe(&mut self) -> u64 {
        let mut moved = 0;
        for (seam, state) in self.seams_mut() {
            let searched = std::mem::take(&mut state.searching);
            if searched && state.tracker.observe(state.costs[0], seam.grid().cells().y) {
                // `accept` reuses the memory of the former path. The kernels that read the former path have ended,
                // because they were submitted for earlier frames than the one that the search analysed.
                seam.accept();
                moved += 1;
            }
        }
        moved
    }
}

/// Returns whether both cameras of the seam are compared.
fn is_compared(seam: &Seam, compared: &Compared) -> bool {
    seam.cameras().iter().all(|camera| compared[*camera])
}
