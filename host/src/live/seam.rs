//! The seams of the warp in use. The `follow` module searches for better paths of the seams in parallel with the
//! stitching. When it finds one, the blending weights fade to the new path over 12 frames.
//!
//! The blending weights of the seams are stored in a copy of the warp, which also follows the presences of the cameras.

use shared_types::seam::SeamCosts;

use super::buffers::FrameSet;
use super::error::LiveError;
use super::faded::{FadedWarp, Followed};
use super::follow::Compared;
use crate::device::{DeviceError, Pinned, Stream};
use crate::frame::FrameFormat;
use crate::ops::colour::Colours;
use crate::ops::seam::{Seam, SeamOptions, SeamTracker, Seams};
use crate::ops::stitch::StitchError;
use crate::warp::{DeviceWarp, RenderError, camera_name};

/// The seams, the states of their fades, and a copy of the warp with the seams' weights.
#[derive(Debug)]
pub(super) struct LiveSeam {
    seams: Seams,
    /// The state of each seam.
    states: Vec<State>,
    seamed: FadedWarp,
    /// Whether the weights for the next frame are not written yet.
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

impl LiveSeam {
    /// Creates the seams, and returns the reason of each overlap that allows none. If no overlap allows a seam, returns
    /// `None` and only the first reason. Returns [`LiveError`] if two cameras with a seam have different
    /// pixel formats in `inputs`: the kernels that compare both cameras read only one format.
    pub(super) fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        options: SeamOptions,
        inputs: &[FrameFormat],
    ) -> Result<(Option<Self>, Vec<String>), LiveError> {
        let (seams, reasons) = match Seams::new(stream, warp, options) {
            Err(reason) if reason.is_of_warp() => return Ok((None, vec![reason.to_string()])),
            seams => seams?,
        };
        let seamless = reasons.iter().map(ToString::to_string).collect();
        for seam in seams.pairs() {
            let formats = seam.cameras().map(|camera| inputs[camera].pixels);
            if formats[0] != formats[1] {
                let [first, second] = seam.cameras().map(|i| camera_name(i, inputs.len()));
                let [one, other] = formats;
                return Err(LiveError::Invalid(format!(
                    "the frames of the {first} and {second} cameras are {one} and {other}, but a seam requires one pixel format; use feathered blending, or convert the frames of one camera"
                )));
            }
        }
        let seamed = FadedWarp::new(stream, warp)?;
        let state = |_: &Seam| {
            let (tracker, costs) = (SeamTracker::default(), Pinned::new(stream.device(), 1)?);
            Ok::<_, DeviceError>(State { tracker, part: 0.0, costs, searching: false })
        };
        let states = seams.pairs().iter().map(state).collect::<Result<_, _>>()?;
        Ok((Some(Self { seams, states, seamed, unwritten: false }), seamless))
    }

    /// Takes over the paths and fades of the seams of the warp that this one replaces, so that the picture does not jump.
    /// Seams whose places differ too much start again. Waits for the device.
    pub(super) fn take_over(&mut self, stream: &Stream, former: &Self) -> Result<(), DeviceError> {
        for (seam, state) in self.seams.pairs_mut().iter_mut().zip(&mut self.states) {
            let mut pairs = former.seams.pairs().iter().zip(&former.states);
            if let Some((old, old_state)) = pairs.find(|(old, _)| old.cameras() == seam.cameras())
                && seam.take_over(stream, old)?
            {
                (state.tracker, state.part) = (old_state.tracker.clone(), old_state.part);
                self.unwritten = true;
            }
        }
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

    /// Returns the warp with the weights of the seams and the presences for the current frame. During a fade of either,
    /// first submits to `stream` the kernels that write these weights. If the worker repeats the submission of a frame,
    /// it calls this method again.
    pub(super) fn warp(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        followed: Followed<'_>,
    ) -> Result<&DeviceWarp, RenderError> {
        let Self { seams, states, seamed, unwritten } = self;
        seamed.follow(stream, warp, followed, *unwritten, |seamed| {
            let parts: Vec<_> = states.iter().map(|state| state.part).collect();
            // Before the first fade, no seam has a path, and the weights are those of the warp.
            if parts.iter().all(|part| *part == 0.0) {
                return Ok(());
            }
            seams.write(stream, warp, &parts, seamed)
        })
    }

    /// Returns the copy of the warp that contains the weights of the seams, as written for the latest frame.
    pub(super) fn seamed(&self) -> &DeviceWarp {
        self.seamed.warp()
    }

    /// Records that the kernels for the weights of the current frame were submitted, so that they are not submitted
    /// again.
    pub(super) fn submitted(&mut self) {
        self.unwritten = false;
    }

    /// Returns whether a seam between two of the `compared` cameras is not fading to a new path. Only then may a search
    /// for a better path start.
    pub(super) fn is_at_rest(&self, compared: &Compared) -> bool {
        self.between(compared).any(|state| state.tracker.is_at_rest())
    }

    /// Returns whether a seam between two of the `compared` cameras has no path yet.
    pub(super) fn is_new(&self, compared: &Compared) -> bool {
        self.between(compared).any(|state| state.tracker.is_new())
    }

    /// Yields the states of the seams between two of the `compared` cameras.
    fn between(&self, compared: &Compared) -> impl Iterator<Item = &State> {
        let pairs = self.seams.pairs().iter().zip(&self.states);
        pairs.filter(|(seam, _)| is_compared(seam, compared)).map(|(_, state)| state)
    }

    /// Submits the search for the best path of each seam between two of the `compared` cameras that is at rest, and the
    /// download of the paths' costs.
    ///
    /// # Safety
    /// The caller uses one stream for all searches, and keeps the seams and the frames until this stream is idle.
    pub(super) unsafe fn submit(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        set: &FrameSet,
        compared: &Compared,
        colours: Colours,
    ) -> Result<(), StitchError> {
        let frames = set.lock();
        let frames = frames.views();
        for (seam, state) in self.seams.pairs_mut().iter_mut().zip(&mut self.states) {
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
        for (seam, state) in self.seams.pairs_mut().iter_mut().zip(&mut self.states) {
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
