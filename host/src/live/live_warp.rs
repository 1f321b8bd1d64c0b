//! The session's warp with the data derived from it (mesh, overlaps and weights), and the settings for the next frame.

use std::sync::{Arc, Mutex, PoisonError};

use glam::UVec2;

use super::error::LiveError;
use super::options::LiveOptions;
use super::outputs::{Formats, OutputKind};
use super::weights::LiveWeights;
use crate::device::{DeviceError, Stream};
use crate::io::picture::Mask;
use crate::lock::lock;
use crate::ops::blend::{Blend, Blending};
use crate::ops::colour::{Overlaps, Summing};
use crate::ops::stitch::StitchOptions;
use crate::ops::view::Viewer;
use crate::warp::DeviceWarp;

/// The cameras of a session: the warp, and the viewer if there are views. Both must be made from the same geometry.
/// Views are rendered directly from the frames, and only their colour correction and their seams use the warp.
#[derive(Debug)]
pub struct LiveRig {
    /// The source coordinates and the weights of the panorama.
    pub warp: DeviceWarp,
    /// The geometry of the cameras, which views need.
    pub viewer: Option<Viewer>,
}

impl From<DeviceWarp> for LiveRig {
    fn from(warp: DeviceWarp) -> Self {
        Self { warp, viewer: None }
    }
}

impl From<(DeviceWarp, Viewer)> for LiveRig {
    fn from((warp, viewer): (DeviceWarp, Viewer)) -> Self {
        Self { warp, viewer: Some(viewer) }
    }
}

impl LiveRig {
    /// Checks that the rig fits the formats, and scales its warp to the size of the panoramas.
    fn fitted(
        self,
        stream: &Stream,
        formats: &Formats,
    ) -> Result<(Arc<DeviceWarp>, Option<Arc<Viewer>>), LiveError> {
        let Self { warp, viewer } = self;
        let expected: Vec<_> = formats.inputs.iter().map(|format| format.size).collect();
        if warp.sources() != expected {
            let [found, expected] = [warp.sources(), &expected].map(sizes);
            return Err(LiveError::Invalid(format!(
                "the warp is for pictures of {found} pixels, but the session is for pictures of {expected}; create a session for this warp"
            )));
        }
        if formats.has_views && viewer.is_none() {
            return Err(LiveError::invalid(
                "a view needs a viewer; make it from the geometry of the warp",
            ));
        }
        viewer.as_ref().map_or(Ok(()), |viewer| viewer.check_warp(&warp))?;
        let warp = match formats.panoramas.first() {
            Some(panorama) if panorama.size != warp.size() => {
                warp.resized(stream, panorama.size)?
            }
            _ => warp,
        };
        Ok((Arc::new(warp), viewer.map(Arc::new)))
    }
}

/// Returns the sizes as a text, such as `3840×2160 and 1920×1080`.
fn sizes(sizes: &[UVec2]) -> String {
    let texts: Vec<_> = sizes.iter().map(|size| format!("{}×{}", size.x, size.y)).collect();
    texts.join(" and ")
}

/// What a [`LiveWarp`] is made from.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    warp: Arc<DeviceWarp>,
    pub(super) viewer: Option<Arc<Viewer>>,
    pub(super) blend: Blend,
    /// The mask of each camera of whose picture only a part is used. Empty if there are none.
    pub(super) masks: Arc<[Option<Mask>]>,
}

impl Recipe {
    pub(super) fn new(
        stream: &Stream,
        rig: LiveRig,
        blend: Blend,
        formats: &Formats,
    ) -> Result<Self, LiveError> {
        let (warp, viewer) = rig.fitted(stream, formats)?;
        Ok(Self { warp, viewer, blend, masks: Arc::default() })
    }

    /// Replaces the rig.
    pub(super) fn swap(
        &mut self,
        stream: &Stream,
        rig: LiveRig,
        formats: &Formats,
    ) -> Result<(), LiveError> {
        (self.warp, self.viewer) = rig.fitted(stream, formats)?;
        Ok(())
    }
}

/// A warp and the data derived from it.
#[derive(Debug)]
pub(super) struct LiveWarp {
    pub(super) recipe: Recipe,
    /// The warp of the recipe, with its masks.
    pub(super) warp: Arc<DeviceWarp>,
    /// The overlaps, and the memory to analyse them. `None` if no cameras overlap.
    pub(super) overlaps: Option<(Overlaps, Mutex<Summing>)>,
    /// The weights of the seams and of cameras that fail, if there are seams or such cameras are detected.
    pub(super) weights: Option<Mutex<LiveWeights>>,
    /// The mode of blending, prepared for the warp.
    pub(super) blend: Mutex<Box<dyn Blending>>,
    /// The reasons why pairs of cameras have no seam beside others that have one.
    reasons: Vec<String>,
}

impl LiveWarp {
    /// Returns whether the weights differ from those of the recipe's warp.
    pub(super) fn is_reweighted(&self) -> bool {
        !Arc::ptr_eq(&self.warp, &self.recipe.warp)
    }

    pub(super) fn new(
        stream: &Stream,
        recipe: Recipe,
        options: &LiveOptions,
        formats: &Formats,
        former: Option<&Self>,
    ) -> Result<Self, LiveError> {
        // Kernels see these formats.
        let inputs: Vec<_> = formats.inputs.iter().map(|format| format.stored()).collect();
        let failures = options.failure.is_some();
        recipe.blend.check(inputs.len(), formats.has_views)?;
        let warp = match recipe.masks.iter().any(Option::is_some) {
            true => Arc::new(recipe.warp.masked(stream, &recipe.masks)?),
            false => Arc::clone(&recipe.warp),
        };
        let alike = inputs.iter().all(|format| format.pixels == inputs[0].pixels);
        let deep = inputs.iter().any(|format| format.pixels.bits() > 8);
        let needs_sums = warp.sources().len() > 2 || failures || !alike || deep;
        if formats.uses_mesh(options, options.stitch)? {
            // Build the mesh here, so that the first frame does not wait for it. The mesh must be built before the
            // seam copies the warp and changes the weights of the copy.
            warp.mesh(stream)?;
        } else if !formats.panoramas.is_empty() && needs_sums {
            // Allocate the sums here, so that no set of frames waits for them. Two cameras need them if one fails, if
            // their formats differ, or for 10 bits.
            warp.summing(stream)?;
        }
        let overlaps = Overlaps::find(stream, &warp)?;
        let overlaps = match overlaps.all() {
            [] => None,
            _ => Some((overlaps, Mutex::new(Summing::new(stream.device())?))),
        };
        let mut blend = recipe.blend.mode();
        blend.prepare(stream, &warp)?;
        let (weights, reasons) = LiveWeights::new(stream, &warp, recipe.blend, failures, &inputs)?;
        // A replaced warp repeats no warning.
        let is_new =
            |reason: &&String| former.is_none_or(|former| !former.reasons.contains(reason));
        reasons.iter().filter(is_new).for_each(|reason| tracing::warn!("{reason}"));
        let weights = weights.map(Mutex::new);
        Ok(Self { recipe, warp, overlaps, weights, blend: Mutex::new(blend), reasons })
    }

    /// Takes over the seams of the warp that this one replaces. Waits for the device.
    pub(super) fn take_over(&mut self, stream: &Stream, former: &Self) -> Result<(), DeviceError> {
        match (&mut self.weights, &former.weights) {
            (Some(weights), Some(former)) => {
                let weights = weights.get_mut().unwrap_or_else(PoisonError::into_inner);
                weights.take_over(stream, &lock(former))
            }
            _ => Ok(()),
        }
    }
}

/// The settings that apply to the next frame.
#[derive(Clone)]
pub(super) struct FrameSettings {
    pub(super) warp: Arc<LiveWarp>,
    pub(super) stitch: StitchOptions,
    /// What each output shows.
    pub(super) outputs: Vec<OutputKind>,
}
