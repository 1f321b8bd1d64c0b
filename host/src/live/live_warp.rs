//! The session's warp with the data derived from it (mesh, overlaps and weights), and the settings for the next frame.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::LiveError;
use super::options::LiveOptions;
use super::outputs::{Formats, OutputKind};
use super::weights::LiveWeights;
use crate::device::{DeviceError, Stream};
use crate::lock::lock;
use crate::ops::blend::Blending;
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

/// A warp and the data derived from it.
#[derive(Debug)]
pub(super) struct LiveWarp {
    pub(super) warp: DeviceWarp,
    /// The overlaps, and the memory to analyse them. `None` if no cameras overlap.
    pub(super) overlaps: Option<(Overlaps, Mutex<Summing>)>,
    /// The weights of the seams and of cameras that fail, if there are seams or such cameras are detected.
    pub(super) weights: Option<Mutex<LiveWeights>>,
    /// The mode of blending, prepared for the warp.
    pub(super) blend: Mutex<Box<dyn Blending>>,
    pub(super) viewer: Option<Viewer>,
    /// The reasons why pairs of cameras have no seam beside others that have one.
    reasons: Vec<String>,
}

impl LiveWarp {
    pub(super) fn new(
        stream: &Stream,
        LiveRig { warp, viewer }: LiveRig,
        options: &LiveOptions,
        formats: &Formats,
        former: Option<&Self>,
    ) -> Result<Self, LiveError> {
        // Kernels see these formats.
        let inputs: Vec<_> = formats.inputs.iter().map(|format| format.stored()).collect();
        let failures = options.failure.is_some();
        options.blend.check(warp.sources().len(), formats.has_views)?;
        viewer.as_ref().map_or(Ok(()), |viewer| viewer.check_warp(&warp))?;
        let warp = match formats.panoramas.first() {
            Some(panorama) if panorama.size != warp.size() => {
                warp.resized(stream, panorama.size)?
            }
            _ => warp,
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
        let mut blend = options.blend.mode();
        blend.prepare(stream, &warp)?;
        let (weights, reasons) = LiveWeights::new(stream, &warp, options.blend, failures, &inputs)?;
        // A replaced warp repeats no warning.
        let is_new =
            |reason: &&String| former.is_none_or(|former| !former.reasons.contains(reason));
        reasons.iter().filter(is_new).for_each(|reason| tracing::warn!("{reason}"));
        let weights = weights.map(Mutex::new);
        Ok(Self { warp, overlaps, weights, blend: Mutex::new(blend), viewer, reasons })
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
